package role

import (
	"net/url"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the [external.Kind] of Role.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	return kit.Kind(c, &table)
}

var table = kit.Table[object]{
	Kind: kind, Service: (*openstack.Scope).Identity, References: References,
	Place: (*openstack.Scope).Cloud,
	Path:  "roles", One: "role", Many: "roles", Patch: true, Fields: fields,
	Within: within,
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Default("description", r.Description, ""),
	}
}

// within returns the parameter domain_id for a list of roles. Without domain_id, Keystone lists
// only the roles without a domain.
func within(in external.Input[object]) url.Values {
	if id := kit.ID(in, "Domain", in.Object.Spec.Resource.DomainRef); id != nil {
		return url.Values{"domain_id": {*id}}
	}
	return url.Values{}
}
