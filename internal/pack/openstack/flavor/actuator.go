package flavor

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the kind.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, kind, (*openstack.Scope).Compute, &table, Relations, observe)
	k.Realm = kit.Realm[object]
	k.Differs = differs
	return kit.Wrap(k, func(a kit.Actuator[object]) external.Actuator[object, *kit.Resource] { return actuator{a} })
}

var table = kit.Table[object]{
	Path: "flavors", One: "flavor", Many: "flavors", Fields: fields,
	// Without it, Nova lists those alone that all projects can use.
	Listed: "flavors/detail", Always: url.Values{"is_public": {"None"}},
	// Nova has no filter but for sizes that are not too small.
	Filter: func(external.Input[object]) url.Values { return nil }, Matches: matches,
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

func matches(in external.Input[object], r *kit.Resource) bool {
	f := in.Object.GetFilter()
	return kit.Has(r, "name", f.Name) && kit.Has(r, "ram", f.RAM) && kit.Has(r, "vcpus", f.Vcpus) &&
		kit.Has(r, "disk", f.Disk)
}

// extraSpecs is what Nova and differs call extra specs.
const extraSpecs = "extra_specs"

// compare returns the extra specs that are missing or different, and the names of
// those that are too many.
func compare(in external.Input[object], r *kit.Resource) (set map[string]string, remove []string) {
	set = map[string]string{}
	for _, s := range in.Object.Spec.Resource.ExtraSpecs {
		set[s.Name] = s.Value
	}
	have := specs(r)
	for _, name := range slices.Sorted(maps.Keys(have)) {
		wanted, ok := set[name]
		if !ok {
			remove = append(remove, name)
		}
		if ok && wanted == have[name] {
			delete(set, name)
		}
	}
	return set, remove
}

func differs(in external.Input[object], r *kit.Resource) []string {
	if set, remove := compare(in, r); len(set)+len(remove) > 0 {
		return []string{extraSpecs}
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
	set, remove := compare(in, r)
	if len(set) > 0 {
		body := map[string]any{extraSpecs: set}
		if err := kit.Call(ctx, a.Client, http.MethodPost, a.URL(id, "os-extra_specs"), body, nil); err != nil {
			return r, kit.Explain(err)
		}
	}
	for _, name := range remove {
		err := kit.Call(ctx, a.Client, http.MethodDelete, a.URL(id, "os-extra_specs", name), nil, nil)
		if err != nil && !openstack.IsNotFound(err) {
			return r, kit.Explain(err)
		}
	}
	return a.Get(ctx, in, id)
}
