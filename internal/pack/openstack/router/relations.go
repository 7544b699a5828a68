package router

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Router"

type (
	object = *openstackv1alpha1.Router
	spec   = openstackv1alpha1.RouterResourceSpec
	filter = openstackv1alpha1.RouterFilter
)

// Relations of a Router.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Network", "spec.resource.externalGateways[].networkRef", kit.Spec[object](gateways)),
	kit.Guards(kind, "Project", "spec.resource.projectRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.ProjectRef) })),
	kit.Waits(kind, "Project", "spec.import.filter.projectRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.ProjectRef) })),
}

func gateways(s *spec) kit.Refs {
	names := make(kit.Refs, 0, len(s.ExternalGateways))
	for _, g := range s.ExternalGateways {
		names = append(names, g.NetworkRef)
	}
	return names
}
