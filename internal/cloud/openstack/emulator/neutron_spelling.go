package emulator

import "net/netip"

// spellSubnet gives addresses of a subnet the spelling that Neutron has for them.
// Name servers, and what routes lead to, stay as they are given.
func spellSubnet(o object) {
	spell(o, "gateway_ip")
	for _, pool := range o.objects("allocation_pools") {
		spell(pool, "start")
		spell(pool, "end")
	}
	for _, route := range o.objects("host_routes") {
		spell(route, "nexthop")
	}
}

// spell leaves what is no address as it is.
func spell(o object, key string) {
	if address, err := netip.ParseAddr(o.str(key)); err == nil {
		o[key] = address.String()
	}
}
