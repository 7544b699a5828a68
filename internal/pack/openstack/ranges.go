package openstack

import (
	"context"
	"net/netip"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// serviceRanges returns the ranges of the addresses of Services, as far as the API server
// tells: before Kubernetes 1.33 it does not. They are read at the start alone.
func serviceRanges(ctx context.Context, c client.Client) []netip.Prefix {
	log := ctrl.Log.WithName("openstack")
	var found unstructured.UnstructuredList
	found.SetGroupVersionKind(schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "ServiceCIDRList"})
	if err := c.List(ctx, &found); err != nil {
		log.Info("The ranges of Services are not known: close them with --openstack-closed-cidrs", "reason", err.Error())
		return nil
	}
	var ranges []netip.Prefix
	for _, one := range found.Items {
		texts, _, err := unstructured.NestedStringSlice(one.Object, "spec", "cidrs")
		if err != nil {
			log.Error(err, "The range of Services can't be read", "name", one.GetName())
		}
		for _, text := range texts {
			if prefix, err := netip.ParsePrefix(text); err == nil {
				ranges = append(ranges, prefix)
			}
		}
	}
	return ranges
}
