package flavor

import (
	"context"
	"net/url"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Flavor

// References are the [kit.Reference] values of a Flavor.
var References = kit.Bind[object](nil)

// New returns the [external.Kind] of Flavor.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, &table)
	k.Realm = kit.Realm[object]
	k.Differs = differs
	return kit.Wrap(k, func(a kit.Actuator[object]) external.Actuator[object, *kit.Resource] { return actuator{a} })
}

var table = kit.Table[object]{
	Service: (*openstack.Scope).Compute, References: References, Amend: amend, Names: names,
	Place: (*openstack.Scope).Region,
	Path:  "flavors", One: "flavor", Many: "flavors", Fields: fields,
	// Without is_public=None, Nova lists public flavors only.
	Listed: "flavors/detail", Always: url.Values{"is_public": {"None"}},
	Unfiltered: true, Compared: []string{"name", "ram", "vcpus", "disk"},
}

func fields(in external.Input[object]) []kit.Field {
	r, name := in.Object.Spec.Resource, in.Object.GetResourceName()
	return []kit.Field{
		kit.Fixed("name", &name),
		kit.Fixed("id", r.ID),
		kit.Fixed("description", r.Description),
		kit.Fixed("ram", &r.RAM),
		kit.Fixed("vcpus", &r.Vcpus),
		kit.Fixed("disk", &r.Disk),
		kit.Fixed("swap", r.Swap),
		kit.Fixed(public, r.IsPublic),
		kit.Fixed(ephemeral, r.Ephemeral),
	}
}

// specsField is the name of the extra specs in Nova, and in the result of differs.
const specsField = "extra_specs"

func wanted(in external.Input[object]) map[string]string {
	specs := map[string]string{}
	for _, s := range in.Object.Spec.Resource.ExtraSpecs {
		specs[s.Name] = s.Value
	}
	return specs
}

func differs(in external.Input[object], r *kit.Resource) []string {
	if set, unset := kit.Unlike(r, specsField, wanted(in)); len(set)+len(unset) > 0 {
		return []string{specsField}
	}
	return nil
}

// actuator changes the extra specs.
type actuator struct{ kit.Actuator[object] }

// Update implements external.Actuator.
func (a actuator) Update(
	ctx context.Context, in external.Input[object], r *kit.Resource, _ []string,
) (*kit.Resource, error) {
	id := r.String("id")
	set, unset := kit.Unlike(r, specsField, wanted(in))
	if err := a.Amend(ctx, id, "os-extra_specs", specsField, set, unset); err != nil {
		return r, err
	}
	return a.Get(ctx, in, id)
}

// Names of fields in Nova that differ from the names in status.resource.
const (
	public    = "os-flavor-access:is_public"
	ephemeral = "OS-FLV-EXT-DATA:ephemeral"
)

var names = map[string]string{"isPublic": public, "ephemeral": ephemeral}

// longestDescription is the maxLength of status.resource.description.
const longestDescription = 65535

func amend(o object, r *kit.Resource) {
	s := o.Status.Resource
	s.Swap, s.Ephemeral = kit.NonZero(s.Swap), kit.NonZero(s.Ephemeral)
	s.Description = kit.Cut(r.String("description"), longestDescription)
}
