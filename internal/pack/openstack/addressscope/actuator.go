// Package addressscope is the kind AddressScope of the openstack pack, for /v2.0/address-scopes
// of Neutron.
package addressscope

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.AddressScope

// Table describes the requests for AddressScopes.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Network,
	Path:    "address-scopes", One: "address_scope", Many: "address_scopes", Fields: fields,
	References: kit.Bind[object]([]kit.Reference{
		{Target: "Project", Field: "spec.resource.projectRef", Body: "project_id", Query: "project_id"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Fixed("ip_version", &r.IPVersion),
		kit.Default("shared", r.Shared, false),
	}
}
