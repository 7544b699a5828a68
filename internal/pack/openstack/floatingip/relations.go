package floatingip

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "FloatingIP"

type (
	object = *openstackv1alpha1.FloatingIP
	spec   = openstackv1alpha1.FloatingIPResourceSpec
	filter = openstackv1alpha1.FloatingIPFilter
)

// Relations of a FloatingIP.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Network", "spec.resource.floatingNetworkRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.FloatingNetworkRef) })),
	kit.Guards(kind, "Subnet", "spec.resource.floatingSubnetRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.FloatingSubnetRef) })),
	kit.Guards(kind, "Port", "spec.resource.portRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.PortRef) })),
	kit.Guards(kind, "Project", "spec.resource.projectRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.ProjectRef) })),
	kit.Waits(kind, "Network", "spec.import.filter.floatingNetworkRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.FloatingNetworkRef) })),
	kit.Waits(kind, "Port", "spec.import.filter.portRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.PortRef) })),
	kit.Waits(kind, "Project", "spec.import.filter.projectRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.ProjectRef) })),
}
