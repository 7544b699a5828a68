package endpoint

import (
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the [external.Kind] of Endpoint.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	return kit.Kind(c, &table)
}

var table = kit.Table[object]{
	Kind: kind, Service: (*openstack.Scope).Identity, References: References,
	Place: (*openstack.Scope).Cloud,
	Path:  "endpoints", One: "endpoint", Many: "endpoints", Patch: true, NoName: true, Fields: fields,
	Compared: []string{"url"}, // Keystone can't filter endpoints by URL.
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
