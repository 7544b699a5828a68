package kit

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/pkg/external"
)

// markerKey is where in a resource's metadata the uid is of the object that it was
// made for. Statuses don't show it.
const markerKey = "kinship-uid"

// MetadataField is where resources have pairs of texts.
const MetadataField = "metadata"

// textMark precedes the uid in a field that is one text.
const textMark = markerKey + " "

// uidPattern is what the API server gives objects for a uid.
var uidPattern = regexp.MustCompile(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)

// Mark adds an object's uid to what its resource's metadata should be.
func Mark(obj external.Object, metadata any) map[string]any {
	pairs, _ := normal(metadata).(map[string]any)
	marked := map[string]any{markerKey: string(obj.GetUID())}
	for key, value := range pairs {
		if key != markerKey {
			marked[key] = value
		}
	}
	return marked
}

// marker returns the uid that a resource carries.
func (t *Table[K]) marker(r *Resource) types.UID {
	switch t.Marked {
	case "":
		return ""
	case MetadataField:
		uid, _ := r.Map(MetadataField)[markerKey].(string)
		return types.UID(uid)
	}
	uid, isMark := strings.CutPrefix(r.String(t.Marked), textMark)
	if !isMark || !uidPattern.MatchString(uid) { // Else a person has written that.
		return ""
	}
	return types.UID(uid)
}

// hasTextMark reports whether the text of a resource is the mark, and not yet what the spec
// wants.
func (t *Table[K]) hasTextMark(r *Resource) bool {
	return t.Marked != MetadataField && t.marker(r) != ""
}

// withoutMark returns a resource as people are to see it: with an empty text instead of the
// mark.
func (t *Table[K]) withoutMark(r *Resource) *Resource {
	if !t.hasTextMark(r) {
		return r
	}
	r = &Resource{maps.Clone(r.Fields)} // A list may have it for others as well.
	r.Fields[t.Marked] = ""
	return r
}

// Pairs returns a field with pairs of texts as a status lists them, in the order of
// their keys, and cut as [Report] does.
func Pairs[P any](r *Resource, name string, pair func(key, value string) P) []P {
	object := r.Map(name)
	keys := slices.Sorted(maps.Keys(object))
	all := make([]P, 0, len(keys))
	for _, key := range keys {
		if value, ok := object[key].(string); ok && key != markerKey && len(all) < LongestList {
			all = append(all, pair(Cut(key, LongestText), Cut(value, LongestText)))
		}
	}
	return all
}

// Unlike returns what of the wanted pairs is missing or other than it should be, and
// the keys that are too many. The marker is not one of them.
func Unlike(r *Resource, name string, wanted map[string]string) (set map[string]string, unset []string) {
	have := r.Map(name)
	set = map[string]string{}
	for key, value := range wanted {
		if have[key] != value && key != markerKey {
			set[key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if _, ok := wanted[key]; !ok && key != markerKey {
			unset = append(unset, key)
		}
	}
	return set, unset
}

// Amend changes pairs that a resource keeps in a collection of their own: one request
// for all that are set, and one for each that is unset. Name is what the field is called.
func (a Actuator[K]) Amend(
	ctx context.Context, id, collection, name string, set map[string]string, unset []string,
) error {
	if len(set) > 0 {
		body := map[string]any{name: set}
		if err := Call(ctx, a.Client, http.MethodPost, a.URL(id, collection), body, nil); err != nil {
			return Explain(err)
		}
	}
	for _, key := range unset {
		err := Call(ctx, a.Client, http.MethodDelete, a.URL(id, collection, key), nil, nil)
		if err != nil && !openstack.IsNotFound(err) { // Somebody else was faster.
			return Explain(err)
		}
	}
	return nil
}
