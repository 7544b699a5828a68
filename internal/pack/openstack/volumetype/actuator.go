package volumetype

import (
	"context"
	"net/url"
	"slices"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the kind.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, &table)
	k.Differs = differs
	return kit.Wrap(k, func(a kit.Actuator[object]) external.Actuator[object, *kit.Resource] { return actuator{a} })
}

// specsField is what Cinder and differs call the extra specs.
const specsField = "extra_specs"

var table = kit.Table[object]{
	Kind: kind, Service: (*openstack.Scope).Volume, References: References, Observe: observe,
	Place: (*openstack.Scope).Region,
	Path:  "types", One: "volume_type", Many: "volume_types", Fields: fields,
	Always:     url.Values{"is_public": {"None"}}, // Else only those that are public.
	Unfiltered: true, Compared: []string{"name", "description", "isPublic"},
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	specs := wanted(in)
	return []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Default("description", r.Description, ""),
		// POST and PUT have a name each for it.
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

// actuator changes the extra specs as well.
type actuator struct{ kit.Actuator[object] }

// Update implements external.Actuator. While there are volumes of the type, Cinder
// changes no extra spec.
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
