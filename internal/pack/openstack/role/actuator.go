// Package role is the kind Role of the openstack pack, for /v3/roles of Keystone.
package role

import (
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
	// Without domain_id, Keystone lists only the roles without a domain.
	Within: []string{"domain_id"},
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
