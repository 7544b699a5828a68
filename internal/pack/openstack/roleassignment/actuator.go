// Package roleassignment is the kind RoleAssignment of the openstack pack, for
// /v3/role_assignments of Keystone. A role assignment has no ID in Keystone: its path (role,
// user or group, project or domain) identifies it, and is the ID for pkg/external.
package roleassignment

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lists"
)

type object = *openstackv1alpha1.RoleAssignment

// References are the [kit.Reference] values of a RoleAssignment.
var References = kit.Bind[object]([]kit.Reference{
	{Target: "Role", Field: "spec.resource.roleRef", Body: "role_id", Query: "role.id"},
	{Target: "User", Field: "spec.resource.userRef", Body: "user_id", Query: "user.id"},
	{Target: "Group", Field: "spec.resource.groupRef", Body: "group_id", Query: "group.id"},
	{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "scope.project.id"},
	{Target: "Domain", Field: "spec.resource.domainRef", Body: "domain_id", Query: "scope.domain.id"},
})

// New returns the [external.Kind] of RoleAssignment.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, &table)
	k.Identify = func(r *kit.Resource) external.Identity { return external.Identity{ID: parts(r).Path()} }
	k.Drifts = nil // The path of a role assignment contains all of its fields.
	return k
}

// table describes the list. All other requests use the path of an assignment.
var table = kit.Table[object]{
	Service: (*openstack.Scope).Identity, References: References,
	Place: (*openstack.Scope).Cloud,
	Path:  "role_assignments", Many: "role_assignments", NoName: true,
	Fields: func(external.Input[object]) []kit.Field { return nil },
	Wrap:   func(a kit.Actuator[object]) kit.Requests[object] { return actuator{a} },
}

// parts returns the IDs that make up an assignment.
func parts(r *kit.Resource) *openstackv1alpha1.RoleAssignmentResourceStatus {
	s := &openstackv1alpha1.RoleAssignmentResourceStatus{}
	kit.Report(r, s, nil)
	return s
}

// flat converts an assignment from a list to the fields of parts and of the status.
func flat(r *kit.Resource) *kit.Resource {
	fields := map[string]any{}
	add := func(from map[string]any, names ...string) {
		for _, name := range names {
			if part, ok := from[name].(map[string]any); ok {
				fields[name+"_id"] = part["id"]
			}
		}
	}
	add(r.Fields, "role", "user", "group")
	add(r.Map("scope"), "project", "domain")
	return &kit.Resource{Fields: fields}
}

// actuator sends requests to the path of an assignment.
type actuator struct{ kit.Actuator[object] }

// wanted returns the assignment that spec.resource describes.
func (a actuator) wanted(in external.Input[object]) *kit.Resource {
	return &kit.Resource{Fields: a.Body(in)}
}

// call sends a request for an assignment. The answer has no body.
func (a actuator) call(ctx context.Context, method, path string) error {
	parts := strings.Split(path, "/") // The ids among the parts are the cloud's.
	return kit.Explain(kit.Call(ctx, a.Client, method, kit.Address(a.Client, parts[0], parts[1:]...), nil, nil))
}

// Get implements external.Actuator.
func (a actuator) Get(ctx context.Context, _ external.Input[object], id string) (*kit.Resource, error) {
	if err := a.call(ctx, http.MethodHead, id); err != nil {
		return nil, err
	}
	all, fields := strings.Split(id, "/"), map[string]any{}
	for i := 0; i+1 < len(all); i += 2 {
		fields[strings.TrimSuffix(all[i], "s")+"_id"] = all[i+1]
	}
	return &kit.Resource{Fields: fields}, nil
}

// Find implements external.Actuator.
func (a actuator) Find(
	ctx context.Context, in external.Input[object], search external.Search,
) ([]*kit.Resource, error) {
	if search.Imported {
		return a.list(ctx, a.FilterQuery(in))
	}
	path := parts(a.wanted(in)).Path()
	if path == "" {
		return nil, nil // An assignment with a missing ID can't exist.
	}
	found, err := a.Get(ctx, in, path)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	return []*kit.Resource{found}, nil
}

// List implements external.Lister.
func (a actuator) List(ctx context.Context) ([]*kit.Resource, error) { return a.list(ctx, nil) }

// list returns the assignments on projects and domains. Assignments on the system, and
// inherited assignments, are left out.
func (a actuator) list(ctx context.Context, query url.Values) ([]*kit.Resource, error) {
	found, err := a.Query(ctx, query, func(r *kit.Resource) bool {
		_, below := r.Map("scope")["OS-INHERIT:inherited_to"]
		return !below && parts(flat(r)).Path() != ""
	})
	return lists.Map(found, flat), err
}

// Create implements external.Actuator. Keystone's answer to PUT is the same if the assignment
// existed before. Create therefore sends HEAD first: the operator must not delete an existing
// assignment together with the object.
func (a actuator) Create(ctx context.Context, in external.Input[object]) (*kit.Resource, error) {
	r := a.wanted(in)
	path := parts(r).Path()
	err := a.call(ctx, http.MethodHead, path)
	if err == nil {
		return nil, &external.Error{Class: external.Invalid, Message: "there is such a role assignment already"}
	}
	if err = ignoreMissing(err); err != nil {
		return nil, kit.Undone(err)
	}
	return r, a.call(ctx, http.MethodPut, path)
}

// Delete implements external.Actuator.
func (a actuator) Delete(ctx context.Context, _ external.Input[object], id string) error {
	return a.call(ctx, http.MethodDelete, id)
}

func ignoreMissing(err error) error {
	if external.IsMissing(err) {
		return nil
	}
	return err
}
