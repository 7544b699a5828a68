// Package service is the kind Service of the openstack pack, for /v3/services of Keystone.
package service

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Service

// Table describes the requests for Services.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Identity,
	Place:   (*openstack.Scope).Cloud,
	Path:    "services", One: "service", Many: "services", Patch: true, Fields: fields,
	References: kit.Bind[object](nil), Amend: amend,
}

// amend leaves out an empty description for which the spec does not ask. Keystone forgets no description: a description
// that was set and taken away is empty, and a Service that never had a description has none.
func amend(o object, r *kit.Resource) {
	if spec := o.Spec.Resource; spec != nil && spec.Description == nil && r.String("description") == "" {
		o.Status.Resource.Description = nil
	}
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Default("description", r.Description, ""),
		kit.Always("type", r.Type),
		kit.Default("enabled", r.Enabled, true),
	}
}
