package role

import (
	"net/url"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the kind.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	return kit.Kind(c, kind, (*openstack.Scope).Identity, &table, Relations, observe)
}

var table = kit.Table[object]{
	Place: (*openstack.Scope).Cloud,
	Path:  "roles", One: "role", Many: "roles", Patch: true, Fields: fields, Filter: query,
	Within: within,
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Default("description", r.Description, ""),
		kit.Fixed("domain_id", kit.ID(in, "Domain", r.DomainRef)),
	}
}

// within says where the role is: Keystone lists those of no domain, but for one that it
// is told.
func within(in external.Input[object]) url.Values {
	q := kit.NewQuery()
	kit.Add(q, "domain_id", kit.ID(in, "Domain", in.Object.Spec.Resource.DomainRef))
	return q.Values
}

func query(in external.Input[object]) url.Values {
	f, q := in.Object.GetFilter(), kit.NewQuery()
	kit.Add(q, "name", f.Name)
	kit.Add(q, "domain_id", kit.ID(in, "Domain", f.DomainRef))
	return q.Values
}
