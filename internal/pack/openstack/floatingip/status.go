package floatingip

import (
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// names are the fields with another name in OpenStack.
var names = map[string]string{"floatingIP": "floating_ip_address", "fixedIP": "fixed_ip_address"}

// uses returns the router of the floating IP: its interface and its gateway can't be removed
// before the floating IP.
func uses(f object) []external.Resource {
	if f.Status.Resource == nil || f.Status.Resource.RouterID == "" {
		return nil
	}
	return []external.Resource{{Kind: kit.GK("Router"), ID: f.Status.Resource.RouterID}}
}
