// Package trunk is the kind Trunk of the openstack pack, for /v2.0/trunks of Neutron. Its
// subports are changed with add_subports and remove_subports.
package trunk

import (
	"context"
	"net/http"
	"slices"

	"k8s.io/utils/ptr"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lists"
)

type object = *openstackv1alpha1.Trunk

// Table describes the requests for Trunks.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Network, Names: names,
	Dated: true,
	Path:  "trunks", One: "trunk", Many: "trunks", Fields: fields,
	Tags:  func(t object) []string { return kit.Texts(t.Spec.Resource.Tags) },
	Parts: []kit.Part[object]{{Name: subportsField, Differs: subportsDiffer}},
	Wrap:  func(a kit.Actuator[object]) kit.Requests[object] { return actuator{a} },
	References: kit.Bind[object]([]kit.Reference{
		{Target: "Port", Field: "spec.resource.portRef", Body: "port_id", Query: "port_id"},
		// The finalizer of subports has its own name: a Port may be a subport of one Trunk and, by
		// mistake, the port of another.
		{Target: "Port", Field: "spec.resource.subports[].portRef", Guard: "Trunk-Subport"},
		{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	subports := wanted(in)
	return []kit.Field{
		// POST contains them because a trunk that is down accepts none later.
		kit.Fixed("sub_ports", &subports).Opaque(), // updates compare them as a set
		kit.Default("description", r.Description, ""),
		kit.Default("admin_state_up", r.AdminStateUp, true),
	}
}

// subport is a subport in Neutron's JSON.
type subport struct {
	Port string `json:"port_id"`
	Type string `json:"segmentation_type,omitempty"`
	ID   int32  `json:"segmentation_id,omitempty"`
}

// subportsField is the name of the subports in the result of Table.Differs.
const subportsField = "sub_ports"

// wanted returns the subports of the spec.
func wanted(in external.Input[object]) []subport {
	return lists.Map(in.Object.Spec.Resource.Subports, func(s openstackv1alpha1.TrunkSubport) subport {
		return subport{*kit.ID(in, "Port", &s.PortRef), s.SegmentationType, s.SegmentationID}
	})
}

// compare returns the subports that are missing, and the subports that are not wanted.
func compare(in external.Input[object], r *kit.Resource) (add, remove []subport) {
	var have struct {
		Subports []subport `json:"sub_ports"`
	}
	if err := r.Decode(&have); err != nil {
		return nil, nil
	}
	add, remove = kit.Difference(have.Subports, wanted(in), func(a, b subport) bool { return a == b })
	return add, lists.Map(remove, func(one subport) subport { return subport{Port: one.Port} })
}

func subportsDiffer(in external.Input[object], r *kit.Resource) bool {
	add, remove := compare(in, r)
	return len(add)+len(remove) > 0
}

// actuator changes the subports in addition to the fields.
type actuator struct{ kit.Actuator[object] }

// Update implements external.Actuator.
func (a actuator) Update(
	ctx context.Context, in external.Input[object], r *kit.Resource, names []string,
) (*kit.Resource, error) {
	id := r.String("id")
	r, err := a.Actuator.Update(ctx, in, r, names)
	if err != nil || !slices.Contains(names, subportsField) {
		return r, err
	}
	down := r.Fields["admin_state_up"] == false
	if down { // Neutron refuses to change the subports of a trunk that is down.
		if err := a.enable(ctx, id, true); err != nil {
			return r, err
		}
	}
	add, remove := compare(in, r)
	for _, change := range []struct {
		action string
		ports  []subport
	}{{"remove_subports", remove}, {"add_subports", add}} { // A new subport may need the ID of an old one.
		if len(change.ports) == 0 {
			continue
		}
		body := map[string]any{"sub_ports": change.ports}
		if err := kit.Call(ctx, a.Client, http.MethodPut, a.URL(id, change.action), body, nil); err != nil {
			return r, kit.Explain(err)
		}
	}
	if down {
		if err := a.enable(ctx, id, false); err != nil {
			return r, err
		}
	}
	return a.Get(ctx, in, id)
}

func (a actuator) enable(ctx context.Context, id string, up bool) error {
	_, err := a.Send(ctx, http.MethodPut, a.URL(id), map[string]any{a.One: map[string]any{"admin_state_up": up}})
	return err
}

// Delete implements external.Actuator. Neutron refuses to delete a trunk that is down.
func (a actuator) Delete(ctx context.Context, in external.Input[object], id string) error {
	if r := in.Object.Status.Resource; r != nil && !ptr.Deref(r.AdminStateUp, true) {
		if err := a.enable(ctx, id, true); err != nil {
			return err
		}
	}
	return a.Actuator.Delete(ctx, in, id)
}

// names are the fields with another name in OpenStack.
var names = map[string]string{"subports": "sub_ports"}
