package emulator

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// listed answers the GET of a list: the resources of a type in an id, or all top-level resources of
// a resource group or subscription.
func (rq *request) listed() reply {
	in, typ := rq.id.Parent(), rq.id.Type()
	if strings.HasSuffix(strings.ToLower(rq.path), "/resources") && rq.id.Name() != "x" {
		in, typ = rq.id, ""
	}
	if refused := rq.missingOwner(rq.id, "read"); refused != nil {
		refused.reason = Absent
		return refused.reply()
	}
	if typ == "" && rq.store.get(in) == nil && !isPlace(in) {
		return noGroup(in.Name()).reply()
	}
	var found []*resource
	for _, r := range rq.store.all {
		if rq.isListed(r, in, typ) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *resource) int { return strings.Compare(a.id.Key(), b.id.Key()) })
	return rq.page(found)
}

// isListed reports whether a list has a resource. The list of a subscription has the resources in
// its resource groups.
func (rq *request) isListed(r *resource, in azure.ID, typ string) bool {
	if typ == "" {
		parent := r.id.Parent()
		return (parent.Equal(in) || (isPlace(in) && isGroup(parent) && parent.Within(in))) && !isGroup(r.id)
	}
	if !strings.EqualFold(r.kind.Name, typ) {
		return false
	}
	parent := r.id.Parent()
	return parent.Equal(in) || (isPlace(in) && r.id.In().Within(in) && !azure.IsChildType(typ, parent.Type()))
}

// page returns a page of a list, with a nextLink to the next page.
func (rq *request) page(found []*resource) reply {
	from, err := strconv.Atoi(rq.query.Get("$skiptoken"))
	if err != nil || from < 0 || from > len(found) {
		from = 0
	}
	to := min(from+rq.options.PageSize, len(found))
	value := make([]any, 0, to-from)
	for _, r := range found[from:to] {
		value = append(value, rq.render(r))
	}
	body := map[string]any{"value": value}
	if to < len(found) {
		next := url.Values{"api-version": {rq.version}, "$skiptoken": {strconv.Itoa(to)}}
		body["nextLink"] = rq.host + (&url.URL{Path: rq.path}).EscapedPath() + "?" + next.Encode()
	}
	return reply{status: http.StatusOK, body: body}
}
