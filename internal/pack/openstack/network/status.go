package network

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// names are the fields with another name in OpenStack.
var names = map[string]string{
	"external":                 "router:external",
	"provider":                 "",
	"provider.networkType":     "provider:network_type",
	"provider.physicalNetwork": "provider:physical_network",
	"provider.segmentationID":  "provider:segmentation_id",
}

// observe reports a Network, which is available while its status is ACTIVE.
func observe(n object, r *kit.Resource) reconcile.Outcome {
	n.Status.Resource = &openstackv1alpha1.NetworkResourceStatus{}
	kit.Report(r, n.Status.Resource, names)
	if p := n.Status.Resource.Provider; p != nil && p.NetworkType == "" {
		n.Status.Resource.Provider = nil // Only administrators see provider fields.
	}
	return kit.Status(r, "ACTIVE")
}
