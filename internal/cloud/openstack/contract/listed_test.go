package contract_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

type service = func(*openstack.Scope, context.Context) (*gophercloud.ServiceClient, error)

// listing is one collection whose items are read in a list and singly.
type listing struct {
	kind    string
	service service
	// path is the path of the collection; listed is the path of lists, if different.
	path, listed string
	// one and many are the JSON keys. one is empty if a single resource has no key.
	one, many string
	// member says that a member can create the resource, not only an administrator.
	member bool
	// make creates a resource with all fields set, and returns its id.
	make func(l *lister) string
	// differs are the fields in which a list's item differs from the single answer, and how.
	differs map[string]string
}

// lister creates resources with one login.
type lister struct {
	*testing.T

	w *world
	// scope is the login, project its project.
	scope   *openstack.Scope
	project string
	admin   bool
}

// How a list's item differs.
const (
	lacks = "the list lacks it"
	adds  = "the list alone has it"
	null  = "null in the list"
	told  = "null in the single answer"
	other = "another value in the list"
)

// TestListed compares each field of a list item with the answer to GET for this resource. The
// pack uses both, so it must know the differences.
func TestListed(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		for i := range listings {
			row := &listings[i]
			for name, scope := range map[string]*openstack.Scope{"admin": w.admin, "member": w.member} {
				if name == "member" && !row.member {
					continue
				}
				t.Run(row.kind+" of "+name, func(t *testing.T) {
					l := &lister{T: t, w: w, scope: scope, project: scope.ProjectID, admin: name == "admin"}
					row.compare(l)
				})
			}
		}
	})
}

func (row *listing) compare(l *lister) {
	l.Helper()
	c, err := row.service(l.scope, l.Context())
	if err != nil {
		l.Skipf("no such service here: %v", err)
	}
	single, item := row.both(l, c, row.make(l))
	differs := map[string]string{}
	for _, field := range slices.Sorted(maps.Keys(joined(single, item))) {
		if how := difference(single, item, field); how != "" {
			differs[field] = how
		}
	}
	want := row.differs
	if want == nil {
		want = map[string]string{}
	}
	if diff := cmp.Diff(want, differs); diff != "" {
		l.Errorf("the list's item differs from the single answer (-want +got):\n%s", diff)
		for field := range differs {
			l.Logf("%s: singly %v, in the list %v", field, single[field], item[field])
		}
	}
}

// both reads a resource with GET and in the list, while it does not change: a new port may
// still become ACTIVE, with another revision.
func (row *listing) both(l *lister, c *gophercloud.ServiceClient, id string) (single, item map[string]any) {
	l.Helper()
	soon(l.T, "nothing changes the resource", func() (bool, error) {
		single = row.read(l, c, id)
		item = row.find(l, c, id)
		return cmp.Equal(single, row.read(l, c, id)), nil
	})
	return single, item
}

func joined(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// difference returns how a list item differs in a field, or "".
func difference(single, item map[string]any, field string) string {
	one, inSingle := single[field]
	listed, inList := item[field]
	switch {
	case !inList:
		return lacks
	case !inSingle:
		return adds
	case one == nil && listed == nil:
		return ""
	case listed == nil:
		return null
	case one == nil:
		return told
	case !cmp.Equal(one, listed):
		return other
	default:
		return ""
	}
}

// read reads one resource.
func (row *listing) read(l *lister, c *gophercloud.ServiceClient, id string) map[string]any {
	l.Helper()
	var answer map[string]any
	if err := send(l.Context(), c, http.MethodGet, c.ServiceURL(row.path, id), nil, &answer); err != nil {
		l.Fatal(err)
	}
	if row.one == "" {
		return answer
	}
	return answer[row.one].(map[string]any)
}

// find looks for a resource in the list of all.
func (row *listing) find(l *lister, c *gophercloud.ServiceClient, id string) map[string]any {
	l.Helper()
	address := c.ServiceURL(row.path)
	if row.listed != "" {
		address = c.ServiceURL(row.listed)
	}
	var page map[string]any
	if err := send(l.Context(), c, http.MethodGet, address, nil, &page); err != nil {
		l.Fatal(err)
	}
	for _, item := range page[row.many].([]any) {
		fields := item.(map[string]any)
		if inner, wrapped := fields[row.one].(map[string]any); wrapped {
			fields = inner
		}
		if fields["id"] == id || (fields["id"] == nil && fields["name"] == id) {
			return fields
		}
	}
	l.Fatalf("%s is not in the list", id)
	return nil
}
