package server

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Server"

type (
	object = *openstackv1alpha1.Server
	hints  = openstackv1alpha1.ServerSchedulerHints
)

// Paths of references whose IDs are in parts of the request that kit.Reference.Body can't
// describe.
const (
	bootVolumeRef  = "spec.resource.bootVolume.volumeRef"
	portRefs       = "spec.resource.ports[].portRef"
	volumeRefs     = "spec.resource.volumes[].volumeRef"
	differentHosts = "spec.resource.schedulerHints.differentHostServerRefs"
	sameHosts      = "spec.resource.schedulerHints.sameHostServerRefs"
)

// References are the [kit.Reference] values of a Server.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "Image", Field: "spec.resource.imageRef", Body: "imageRef"},
	{Target: "Volume", Field: bootVolumeRef},
	{Target: "Flavor", Field: "spec.resource.flavorRef", Need: kit.Once, Body: "flavorRef"},
	{Target: "Secret", Field: "spec.resource.userData.secretRef", Need: kit.Once},
	{Target: "Port", Field: portRefs},
	{Target: "Volume", Field: volumeRefs},
	{Target: "ServerGroup", Field: "spec.resource.schedulerHints.serverGroupRef", Need: kit.Once},
	{Target: "KeyPair", Field: "spec.resource.keypairRef", Need: kit.Once, Body: "key_name"},
	{Target: kind, Field: differentHosts, Need: kit.Once},
	{Target: kind, Field: sameHosts, Need: kit.Once},
})
