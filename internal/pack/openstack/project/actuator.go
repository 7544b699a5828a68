package project

import (
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the [external.Kind] of Project.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	return kit.Kind(c, &table)
}

var table = kit.Table[object]{
	Kind: kind, Service: (*openstack.Scope).Identity, References: References,
	Place: (*openstack.Scope).Cloud,
	Path:  "projects", One: "project", Many: "projects", Patch: true, Fields: fields,
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Default("description", r.Description, ""),
		kit.Default("enabled", r.Enabled, true),
		kit.Set("tags", r.Tags),
	}
}
