package network

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Network"

type (
	object = *openstackv1alpha1.Network
	spec   = openstackv1alpha1.NetworkResourceSpec
	filter = openstackv1alpha1.NetworkFilter
)

// Relations of a Network.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Project", "spec.resource.projectRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.ProjectRef) })),
	kit.Waits(kind, "Project", "spec.import.filter.projectRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.ProjectRef) })),
}
