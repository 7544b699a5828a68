package volumetype

import (
	"context"
	"net/url"
	"slices"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.VolumeType

// References are the [kit.Reference] values of a VolumeType.
var References = kit.Bind[object](nil)

// New returns the [external.Kind] of VolumeType.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, &table)
	k.Differs = differs
	return kit.Wrap(k, func(a kit.Actuator[object]) external.Actuator[object, *kit.Resource] { return actuator{a} })
}

// specsField is the name of the extra specs in Cinder, and in the result of differs.
const specsField = "extra_specs"

var table = kit.Table[object]{
	Service: (*openstack.Scope).Volume, References: References,
	Place: (*openstack.Scope).Region,
	Path:  "types", One: "volume_type", Many: "volume_types", Fields: fields,
	Always:     url.Values{"is_public": {"None"}}, // Otherwise Cinder lists public types only.
	Unfiltered: true, Compared: []string{"name", "description", "isPublic"},
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	specs := wanted(in)
	return []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Default("description", r.Description, ""),
		// POST and PUT have different names for the field.
		kit.Fixed("os-volume-type-access:is_public", r.IsPublic),
		kit.Default("is_public", r.IsPublic, true).Later(),
		kit.Fixed(specsField, &specs),
	}
}

func wanted(in external.Input[object]) map[string]string {
	specs := map[string]string{}
	for _, s := range in.Object.Spec.Resource.ExtraSpecs {
		specs[s.Name] = s.Value
	}
	return specs
}

func differs(in external.Input[object], r *kit.Resource) []string {
	names := table.Differs(in, r)
	if set, unset := kit.Unlike(r, specsField, wanted(in)); len(set)+len(unset) > 0 {
		names = append(names, specsField)
	}
	return names
}

// actuator changes the extra specs in addition to the fields.
type actuator struct{ kit.Actuator[object] }

// Update implements external.Actuator. Cinder refuses to change extra specs while volumes of
// the type exist.
func (a actuator) Update(
	ctx context.Context, in external.Input[object], r *kit.Resource, names []string,
) (*kit.Resource, error) {
	id := r.String("id")
	set, unset := kit.Unlike(r, specsField, wanted(in))
	r, err := a.Actuator.Update(ctx, in, r, names)
	if err != nil || !slices.Contains(names, specsField) {
		return r, err
	}
	if err := a.Amend(ctx, id, specsField, specsField, set, unset); err != nil {
		return r, err
	}
	return a.Get(ctx, in, id)
}
