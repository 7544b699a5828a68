package user

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "User"

type (
	object = *openstackv1alpha1.User
	spec   = openstackv1alpha1.UserResourceSpec
	filter = openstackv1alpha1.UserFilter
)

// Relations of a User.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Domain", "spec.resource.domainRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.DomainRef) })),
	kit.Guards(kind, "Project", "spec.resource.defaultProjectRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.DefaultProjectRef) })),
	kit.Reads(kind, "spec.resource.passwordRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.PasswordRef) })),
	kit.Waits(kind, "Domain", "spec.import.filter.domainRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.DomainRef) })),
}
