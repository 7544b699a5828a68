package project

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Project"

type (
	object = *openstackv1alpha1.Project
	spec   = openstackv1alpha1.ProjectResourceSpec
	filter = openstackv1alpha1.ProjectFilter
)

// Relations of a Project.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Domain", "spec.resource.domainRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.DomainRef) })),
	kit.Waits(kind, "Domain", "spec.import.filter.domainRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.DomainRef) })),
}
