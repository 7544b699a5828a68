package emulator

import "net/netip"

// spellSubnet gives addresses of a subnet Neutron's spelling. Name servers, and next hops of
// routes, keep the given spelling.
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

// spell returns a text that is no address unchanged.
func spell(o object, key string) {
	if address, err := netip.ParseAddr(o.str(key)); err == nil {
		o[key] = address.String()
	}
}
