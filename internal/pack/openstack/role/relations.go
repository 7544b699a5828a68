package role

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Role"

type (
	object = *openstackv1alpha1.Role
	spec   = openstackv1alpha1.RoleResourceSpec
	filter = openstackv1alpha1.RoleFilter
)

// Relations of a Role.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Domain", "spec.resource.domainRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.DomainRef) })),
	kit.Waits(kind, "Domain", "spec.import.filter.domainRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.DomainRef) })),
}
