package roleassignment

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "RoleAssignment"

type (
	object = *openstackv1alpha1.RoleAssignment
	spec   = openstackv1alpha1.RoleAssignmentResourceSpec
	filter = openstackv1alpha1.RoleAssignmentFilter
)

// Relations of a RoleAssignment. Whatever it names would take it along.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Role", "spec.resource.roleRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Refs{s.RoleRef} })),
	kit.Guards(kind, "User", "spec.resource.userRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.UserRef) })),
	kit.Guards(kind, "Group", "spec.resource.groupRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.GroupRef) })),
	kit.Guards(kind, "Project", "spec.resource.projectRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.ProjectRef) })),
	kit.Guards(kind, "Domain", "spec.resource.domainRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.DomainRef) })),
	kit.Waits(kind, "Role", "spec.import.filter.roleRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.RoleRef) })),
	kit.Waits(kind, "User", "spec.import.filter.userRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.UserRef) })),
	kit.Waits(kind, "Group", "spec.import.filter.groupRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.GroupRef) })),
	kit.Waits(kind, "Project", "spec.import.filter.projectRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.ProjectRef) })),
	kit.Waits(kind, "Domain", "spec.import.filter.domainRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.DomainRef) })),
}
