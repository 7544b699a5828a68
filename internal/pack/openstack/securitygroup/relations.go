package securitygroup

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "SecurityGroup"

type (
	object = *openstackv1alpha1.SecurityGroup
	spec   = openstackv1alpha1.SecurityGroupResourceSpec
	filter = openstackv1alpha1.SecurityGroupFilter
)

// Relations of a SecurityGroup.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	// Neutron would remove the rules with the group that they name. Groups often name
	// each other.
	kit.Later(kind, kind, "spec.resource.rules[].remoteGroupRef", remotes),
	kit.Guards(kind, "Project", "spec.resource.projectRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.ProjectRef) })),
	kit.Waits(kind, "Project", "spec.import.filter.projectRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.ProjectRef) })),
}

// remotes leaves out the group itself, for which it need not wait.
func remotes(g object) kit.Refs {
	if g.Spec.Resource == nil {
		return nil
	}
	var names kit.Refs
	for _, r := range g.Spec.Resource.Rules {
		if r.RemoteGroupRef != nil && string(*r.RemoteGroupRef) != g.Name {
			names = append(names, *r.RemoteGroupRef)
		}
	}
	return names
}
