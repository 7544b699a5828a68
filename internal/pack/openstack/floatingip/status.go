package floatingip

import (
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// names are the fields that OpenStack calls otherwise.
var names = map[string]string{"floatingIP": "floating_ip_address", "fixedIP": "fixed_ip_address"}

// uses returns the router that the address leads through, whose interface and gateway it
// keeps.
func uses(f object) []external.Resource {
	if f.Status.Resource == nil || f.Status.Resource.RouterID == "" {
		return nil
	}
	return []external.Resource{{Kind: kit.GK("Router"), ID: f.Status.Resource.RouterID}}
}
