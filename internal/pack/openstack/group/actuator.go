// Package group is the kind Group of the openstack pack, for /v3/groups of Keystone.
package group

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Group

// Table describes the requests for Groups.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Identity,
	Place:   (*openstack.Scope).Cloud,
	Path:    "groups", One: "group", Many: "groups", Patch: true, Fields: fields,
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
