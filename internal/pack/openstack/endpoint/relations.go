package endpoint

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Endpoint"

type (
	object = *openstackv1alpha1.Endpoint
	spec   = openstackv1alpha1.EndpointResourceSpec
	filter = openstackv1alpha1.EndpointFilter
)

// Relations of an Endpoint.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Service", "spec.resource.serviceRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Refs{s.ServiceRef} })),
	kit.Waits(kind, "Service", "spec.import.filter.serviceRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.ServiceRef) })),
}
