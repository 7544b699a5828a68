// Package endpoint is the kind Endpoint of the openstack pack, for /v3/endpoints of Keystone.
package endpoint

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Endpoint

// Table describes the requests for Endpoints.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Identity,
	Place:   (*openstack.Scope).Cloud,
	Path:    "endpoints", One: "endpoint", Many: "endpoints", Patch: true, NoName: true, Fields: fields,
	Compared: []string{"url"}, // Keystone can't filter endpoints by URL.
	References: kit.Bind[object]([]kit.Reference{
		{Target: "Service", Field: "spec.resource.serviceRef", Body: "service_id", Query: "service_id"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Always("interface", r.Interface),
		kit.Always("url", r.URL),
		kit.Default("enabled", r.Enabled, true),
		kit.Fixed("description", r.Description),
	}
}
