// Package role is the kind Role of the openstack pack, for /v3/roles of Keystone.
package role

import (
	"net/url"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Role

// Table describes the requests for Roles.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Identity,
	Place:   (*openstack.Scope).Cloud,
	Path:    "roles", One: "role", Many: "roles", Patch: true, Fields: fields,
	Within: within,
	References: kit.Bind[object]([]kit.Reference{
		{Target: "Domain", Field: "spec.resource.domainRef", Body: "domain_id", Query: "domain_id"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
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
