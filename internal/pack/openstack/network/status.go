package network

import "github.com/kinship-dev/kinship/internal/pack/openstack/kit"

// names are the fields with another name in OpenStack.
var names = map[string]string{
	"external":                 "router:external",
	"provider":                 "",
	"provider.networkType":     "provider:network_type",
	"provider.physicalNetwork": "provider:physical_network",
	"provider.segmentationID":  "provider:segmentation_id",
}

func amend(n object, _ *kit.Resource) {
	if p := n.Status.Resource.Provider; p != nil && p.NetworkType == "" {
		n.Status.Resource.Provider = nil // Only administrators see provider fields.
	}
}
