package trunk

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Trunk"

type (
	object = *openstackv1alpha1.Trunk
	spec   = openstackv1alpha1.TrunkResourceSpec
	filter = openstackv1alpha1.TrunkFilter
)

// Relations of a Trunk.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Port", "spec.resource.portRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Refs{s.PortRef} })),
	subports(),
	kit.Guards(kind, "Project", "spec.resource.projectRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.ProjectRef) })),
	kit.Waits(kind, "Port", "spec.import.filter.portRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.PortRef) })),
	kit.Waits(kind, "Project", "spec.import.filter.projectRef",
		kit.Filter[object](func(f *filter) kit.Refs { return kit.Names(f.ProjectRef) })),
}

// subports are held by a finalizer of their own: a port may be a subport of one
// trunk and, by mistake, be named as the port of another.
func subports() relation.Relation {
	r := kit.Guards(kind, "Port", "spec.resource.subports[].portRef", kit.Spec[object](func(s *spec) kit.Refs {
		names := make(kit.Refs, 0, len(s.Subports))
		for _, p := range s.Subports {
			names = append(names, p.PortRef)
		}
		return names
	}))
	r.Finalizer = kit.Finalizer("Trunk-Subport")
	// The published operator applies both finalizers of a Trunk as one field manager. After
	// a move back it could not remove a finalizer that another field manager applied.
	r.FieldOwner = kit.Finalizer(kind) + "controller"
	return r
}
