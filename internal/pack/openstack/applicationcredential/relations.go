package applicationcredential

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "ApplicationCredential"

type (
	object = *openstackv1alpha1.ApplicationCredential
	spec   = openstackv1alpha1.ApplicationCredentialResourceSpec
	filter = openstackv1alpha1.ApplicationCredentialFilter
)

// Relations of an ApplicationCredential.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "User", "spec.resource.userRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Refs{s.UserRef} })),
	kit.Guards(kind, "Role", "spec.resource.roleRefs",
		kit.Spec[object](func(s *spec) kit.Refs { return s.RoleRefs })),
	kit.Guards(kind, "Service", "spec.resource.accessRules[].serviceRef", kit.Spec[object](services)),
	// It waits and no more: what is in the Secret can't be changed once it was used.
	kit.Waits(kind, "Secret", "spec.resource.secretRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Refs{s.SecretRef} })),
	kit.Waits(kind, "User", "spec.import.filter.userRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Refs{f.UserRef} })),
}

func services(s *spec) kit.Refs {
	names := make(kit.Refs, 0, len(s.AccessRules))
	for _, rule := range s.AccessRules {
		names = append(names, kit.Names(rule.ServiceRef)...)
	}
	return names
}
