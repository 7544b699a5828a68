package floatingip

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// names are the fields that OpenStack calls otherwise.
var names = map[string]string{"floatingIP": "floating_ip_address", "fixedIP": "fixed_ip_address"}

// observe reports an address, which serves whether or not it leads anywhere.
func observe(f object, r *kit.Resource) reconcile.Outcome {
	f.Status.Resource = &openstackv1alpha1.FloatingIPResourceStatus{}
	kit.Report(r, f.Status.Resource, names)
	return kit.Status(r, "ACTIVE", "DOWN")
}

// uses returns the router that the address leads through, whose interface and gateway it
// keeps.
func uses(f object) []external.Resource {
	if f.Status.Resource == nil || f.Status.Resource.RouterID == "" {
		return nil
	}
	return []external.Resource{{Kind: kit.GK("Router"), ID: f.Status.Resource.RouterID}}
}
