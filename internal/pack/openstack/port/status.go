package port

import (
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// names are the fields with another name in OpenStack.
var names = map[string]string{
	"fixedIPs.ip":             "ip_address",
	"allowedAddressPairs.ip":  "ip_address",
	"allowedAddressPairs.mac": "mac_address",
	"vnicType":                "binding:vnic_type",
	"hostID":                  "binding:host_id",
	"trustedVIF":              "trusted",
}

// uses returns the subnets of the port's addresses. If the spec has no addresses, Neutron
// chooses them.
func uses(p object) []external.Resource {
	if p.Status.Resource == nil {
		return nil
	}
	var used []external.Resource
	for _, a := range p.Status.Resource.FixedIPs {
		used = append(used, external.Resource{Kind: kit.GK("Subnet"), ID: a.SubnetID})
	}
	return used
}
