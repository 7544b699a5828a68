package port

import (
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// names are the fields that OpenStack calls otherwise.
var names = map[string]string{
	"fixedIPs.ip":             "ip_address",
	"allowedAddressPairs.ip":  "ip_address",
	"allowedAddressPairs.mac": "mac_address",
	"vnicType":                "binding:vnic_type",
	"hostID":                  "binding:host_id",
	"trustedVIF":              "trusted",
}

// uses returns the subnets that the port has addresses of. Neutron chooses addresses where
// the spec gives none.
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
