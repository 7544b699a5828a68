package server

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Server"

type (
	object = *openstackv1alpha1.Server
	spec   = openstackv1alpha1.ServerResourceSpec
	hints  = openstackv1alpha1.ServerSchedulerHints
)

// Relations of a Server.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
	kit.Guards(kind, "Image", "spec.resource.imageRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.ImageRef) })),
	kit.Guards(kind, "Volume", "spec.resource.bootVolume.volumeRef", kit.Spec[object](bootVolume)),
	kit.Waits(kind, "Flavor", "spec.resource.flavorRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Refs{s.FlavorRef} })),
	kit.Waits(kind, "Secret", "spec.resource.userData.secretRef", kit.Spec[object](userData)),
	kit.Guards(kind, "Port", "spec.resource.ports[].portRef", kit.Spec[object](ports)),
	kit.Guards(kind, "Volume", "spec.resource.volumes[].volumeRef", kit.Spec[object](volumes)),
	kit.Waits(kind, "ServerGroup", "spec.resource.schedulerHints.serverGroupRef",
		kit.Spec[object](hinted(func(h *hints) kit.Refs { return kit.Names(h.ServerGroupRef) }))),
	kit.Waits(kind, "KeyPair", "spec.resource.keypairRef",
		kit.Spec[object](func(s *spec) kit.Refs { return kit.Names(s.KeypairRef) })),
	kit.Waits(kind, kind, "spec.resource.schedulerHints.differentHostServerRefs",
		kit.Spec[object](hinted(func(h *hints) kit.Refs { return h.DifferentHostServerRefs }))),
	kit.Waits(kind, kind, "spec.resource.schedulerHints.sameHostServerRefs",
		kit.Spec[object](hinted(func(h *hints) kit.Refs { return h.SameHostServerRefs }))),
}

func bootVolume(s *spec) kit.Refs {
	if s.BootVolume == nil {
		return nil
	}
	return kit.Refs{s.BootVolume.VolumeRef}
}

func userData(s *spec) kit.Refs {
	if s.UserData == nil {
		return nil
	}
	return kit.Names(s.UserData.SecretRef)
}

func ports(s *spec) kit.Refs {
	names := make(kit.Refs, 0, len(s.Ports))
	for _, p := range s.Ports {
		names = append(names, kit.Names(p.PortRef)...)
	}
	return names
}

func volumes(s *spec) kit.Refs {
	names := make(kit.Refs, 0, len(s.Volumes))
	for _, v := range s.Volumes {
		names = append(names, v.VolumeRef)
	}
	return names
}

func hinted(read func(*hints) kit.Refs) func(*spec) kit.Refs {
	return func(s *spec) kit.Refs {
		if s.SchedulerHints == nil {
			return nil
		}
		return read(s.SchedulerHints)
	}
}
