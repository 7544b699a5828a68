package port

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Port"

type (
	object = *openstackv1alpha1.Port
	spec   = openstackv1alpha1.PortResourceSpec
	filter = openstackv1alpha1.PortFilter
)

// Relations of a Port.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Network", "spec.resource.networkRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Refs{s.NetworkRef} })),
	// Neutron deletes no subnet that a port has an address of.
	kit.Guards(kind, "Subnet", "spec.resource.addresses[].subnetRef", kit.Spec[object](subnets)),
	kit.Guards(kind, "SecurityGroup", "spec.resource.securityGroupRefs",
		kit.Spec[object](func(s *spec) kit.Refs { return s.SecurityGroupRefs })),
	kit.Guards(kind, "Project", "spec.resource.projectRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.ProjectRef) })),
	kit.Waits(kind, "Server", "spec.resource.hostID.serverRef", kit.Spec[object](host)),
	kit.Waits(kind, "Network", "spec.import.filter.networkRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.NetworkRef) })),
	kit.Waits(kind, "Project", "spec.import.filter.projectRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.ProjectRef) })),
}

func subnets(s *spec) kit.Refs {
	names := make(kit.Refs, 0, len(s.Addresses))
	for _, a := range s.Addresses {
		names = append(names, a.SubnetRef)
	}
	return names
}

func host(s *spec) kit.Refs {
	if s.HostID == nil {
		return nil
	}
	return kit.Names(s.HostID.ServerRef)
}
