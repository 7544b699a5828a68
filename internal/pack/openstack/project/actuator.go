// Package project is the kind Project of the openstack pack, for /v3/projects of Keystone.
package project

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Project

// Table describes the requests for Projects.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Identity,
	Place:   (*openstack.Scope).Cloud,
	Path:    "projects", One: "project", Many: "projects", Patch: true, Fields: fields,
	References: kit.Bind[object]([]kit.Reference{
		{Target: "Domain", Field: "spec.resource.domainRef", Body: "domain_id", Query: "domain_id"},
	}),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Default("description", r.Description, ""),
		kit.Default("enabled", r.Enabled, true),
		kit.Set("tags", r.Tags),
	}
}
