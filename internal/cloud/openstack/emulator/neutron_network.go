package emulator

import (
	"net/netip"
	"slices"
	"strings"
)

func networks() *resource {
	return neutronKind(&resource{
		single: "network", plural: "networks", name: "Network",
		attrs: attributes{
			"admin_state_up": {flag, cu, true}, "shared": {flag, cu | admin, false},
			"router:external": {flag, cu | admin, false}, "mtu": {number, cu, 1450},
			"port_security_enabled": {flag, cu, true}, "availability_zone_hints": {list, create, []any{}},
			"dns_domain": {text, cu, ""}, "is_default": {flag, cu | admin, false},
			"qos_policy_id":             {identifier, cu, nil},
			"provider:network_type":     {text, create | admin | hidden | nullable, nil},
			"provider:physical_network": {text, create | admin | hidden | nullable, nil},
			"provider:segmentation_id":  {number, create | admin | hidden, nil},
		},
		visible: func(rq *request, o object) bool {
			return owned(rq, o) || o.flag("shared") || o.flag("router:external")
		},
		prepare: func(rq *request, o object) error {
			if o["provider:network_type"] == nil {
				o["provider:network_type"] = "vxlan"
				o["provider:segmentation_id"] = len(rq.store().table("network/networks").ids) + 1
			}
			if o.num("mtu") < 68 {
				return invalid("Invalid input for mtu. Reason: it must be at least 68.")
			}
			o["status"], o["subnets"], o["availability_zones"] = "ACTIVE", []any{}, []any{}
			o["ipv4_address_scope"], o["ipv6_address_scope"] = nil, nil
			return rq.defaultGroup(o.str("project_id"))
		},
		change: func(rq *request, old, change object) error {
			external, given := change["router:external"].(bool)
			gateways := rq.portsOf(old.id(), func(p object) bool { return p.str("device_owner") == ownerGateway })
			if given && !external && len(gateways) > 0 {
				return conflicting("ExternalNetworkInUse",
					"External network %s cannot be updated to be made non-external: it is used by a router.", old.id())
			}
			return nil
		},
		remove: func(rq *request, o object) error {
			if len(rq.portsOf(o.id(), func(p object) bool { return p.str("device_owner") != "network:dhcp" })) > 0 {
				return conflicting("NetworkInUse",
					"Unable to complete operation on network %s. There are one or more ports still in use on the network.", o.id())
			}
			for _, subnet := range rq.store().by("network/subnets", "network_id", o.id()) {
				rq.store().remove("network/subnets", subnet.id())
			}
			return nil
		},
	})
}

// portsOf returns the ports of a network for which match holds.
func (rq *request) portsOf(network string, match func(object) bool) []object {
	return rq.store().where("network/ports", func(p object) bool {
		return p.str("network_id") == network && (match == nil || match(p))
	})
}

func subnets() *resource {
	return neutronKind(&resource{
		single: "subnet", plural: "subnets", name: "Subnet",
		attrs: attributes{
			"network_id": {identifier, create | required, nil}, "ip_version": {number, create | required, nil},
			"cidr": {text, create | required, nil}, "gateway_ip": {anything, cu, unset},
			"allocation_pools": {list, cu, nil}, "dns_nameservers": {list, cu, []any{}},
			"host_routes": {list, cu, []any{}}, "enable_dhcp": {flag, cu, true},
			"ipv6_ra_mode": {text, create | nullable, nil}, "ipv6_address_mode": {text, create | nullable, nil},
			"dns_publish_fixed_ip": {flag, cu, false}, "service_types": {list, cu, []any{}},
			"subnetpool_id": {identifier, create, nil}, "segment_id": {identifier, cu, nil},
		},
		visible: func(rq *request, o object) bool {
			return owned(rq, o) || rq.store().get("network/networks", o.str("network_id")).flag("shared")
		},
		prepare: prepareSubnet,
		stored: func(rq *request, o object) error {
			net := rq.store().get("network/networks", o.str("network_id"))
			net["subnets"] = append(net.list("subnets"), o.id())
			touch(rq, net)
			if automatic(o) {
				rq.announce(o)
			}
			return nil
		},
		change: changeSubnet,
		remove: func(rq *request, o object) error {
			used := rq.portsOf(o.str("network_id"), func(p object) bool {
				return p.str("device_owner") != "network:dhcp" && (!automatic(o) || ofRouter(p)) &&
					slices.ContainsFunc(p.objects("fixed_ips"), onSubnet(o.id()))
			})
			if len(used) > 0 {
				return conflicting("SubnetInUse",
					"Unable to complete operation on subnet %s: One or more ports have an IP allocation from this subnet.", o.id())
			}
			rq.conceal(o)
			if net := rq.store().get("network/networks", o.str("network_id")); net != nil {
				net["subnets"] = slices.DeleteFunc(slices.Clone(net.list("subnets")), func(id any) bool { return id == o.id() })
			}
			return nil
		},
	})
}

// unset is the default of gateway_ip: not given, which is not the same as null.
const unset = "unset"

func onSubnet(id string) func(object) bool {
	return func(fixed object) bool { return fixed.str("subnet_id") == id }
}

func prepareSubnet(rq *request, o object) error {
	net, err := rq.known("network/networks", o.str("network_id"))
	if err != nil {
		return err
	}
	if !rq.token.admin() && net.str("project_id") != rq.token.project {
		return absent("Network", net.id())
	}
	if err := knownVersion(o); err != nil {
		return err
	}
	prefix, err := netip.ParsePrefix(o.str("cidr"))
	if err != nil {
		return invalidInput("%s is not in a CIDR format.", o.str("cidr"))
	}
	prefix = prefix.Masked()
	o["cidr"], o["revision_number"] = prefix.String(), 0
	if prefix.Addr().Is4() != (o.num("ip_version") == 4) {
		return invalidInput("cidr '%s' does not match the ip_version '%d'", prefix, o.num("ip_version"))
	}
	for _, other := range rq.store().by("network/subnets", "network_id", net.id()) {
		if netip.MustParsePrefix(other.str("cidr")).Overlaps(prefix) {
			return invalidInput("Requested subnet with cidr: %s for network: %s overlaps with another subnet.", prefix, net.id())
		}
	}
	if err := checkModes(o); err != nil {
		return err
	}
	spellSubnet(o)
	return settleAddresses(o, prefix)
}

// settleAddresses chooses gateway and pools where the request doesn't.
func settleAddresses(o object, prefix netip.Prefix) error {
	if o["gateway_ip"] == unset {
		o["gateway_ip"] = prefix.Addr().Next().String()
		if prefix.Addr().Is6() {
			o["gateway_ip"] = prefix.Addr().String() // The anycast address of all routers.
		}
	}
	if err := checkGateway(o["gateway_ip"], prefix); err != nil {
		return err
	}
	if o["allocation_pools"] == nil {
		o["allocation_pools"] = wholePools(prefix, o.str("gateway_ip"))
	}
	return checkPools(o, prefix)
}

func checkGateway(gateway any, prefix netip.Prefix) error {
	if gateway == nil {
		return nil
	}
	word, _ := gateway.(string)
	address, err := netip.ParseAddr(word)
	if err != nil || address.Is4() != prefix.Addr().Is4() {
		return invalid("Invalid input for gateway_ip. Reason: '%v' is not a valid IP address of the subnet's version.",
			gateway)
	}
	return nil
}

func checkModes(o object) error {
	ra, address := o.str("ipv6_ra_mode"), o.str("ipv6_address_mode")
	if ra == "" && address == "" {
		return nil
	}
	for _, mode := range []string{ra, address} {
		if !slices.Contains([]string{"", "slaac", "dhcpv6-stateful", "dhcpv6-stateless"}, mode) {
			return invalid("Invalid input for ipv6_ra_mode. Reason: '%s' is not a mode.", mode)
		}
	}
	switch {
	case o.num("ip_version") == 4:
		return invalidInput("Invalid input for operation: ipv6_ra_mode or ipv6_address_mode cannot be set on IPv4 subnets.")
	case !o.flag("enable_dhcp"):
		return invalidInput("ipv6_ra_mode or ipv6_address_mode cannot be set when enable_dhcp is set to False.")
	case ra != "" && address != "" && ra != address:
		return invalidInput("ipv6_ra_mode set to '%s' with ipv6_address_mode set to '%s' is not valid.", ra, address)
	default:
		return nil
	}
}

func invalidInput(format string, args ...any) error {
	return refuse(400, "InvalidInput", "Invalid input for operation: "+format, args...)
}

func changeSubnet(_ *request, old, change object) error {
	prefix := netip.MustParsePrefix(old.str("cidr"))
	spellSubnet(change)
	if gateway, given := change["gateway_ip"]; given {
		if err := checkGateway(gateway, prefix); err != nil {
			return err
		}
	}
	after := object{"gateway_ip": old["gateway_ip"], "allocation_pools": old["allocation_pools"]}
	for key := range after {
		if value, given := change[key]; given {
			after[key] = value
		}
	}
	return checkPools(after, prefix)
}

// lastOf returns the last address of a prefix that a port may have.
func lastOf(prefix netip.Prefix) netip.Addr {
	raw := prefix.Addr().AsSlice()
	for bit := prefix.Bits(); bit < len(raw)*8; bit++ {
		raw[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(raw)
	if last.Is4() && prefix.Bits() < 31 {
		return last.Prev() // The last is for broadcasts.
	}
	return last
}

// wholePools is all of a subnet but its own address and the gateway's.
func wholePools(prefix netip.Prefix, gateway string) []any {
	start, end := prefix.Addr().Next(), lastOf(prefix)
	pool := func(from, to netip.Addr) []any {
		if !from.IsValid() || to.Less(from) {
			return nil
		}
		return anys(object{"start": from.String(), "end": to.String()})
	}
	via, err := netip.ParseAddr(gateway)
	if err != nil || via.Less(start) || end.Less(via) {
		return pool(start, end)
	}
	return append(pool(start, via.Prev()), pool(via.Next(), end)...)
}

type span struct{ start, end netip.Addr }

func poolsOf(o object) ([]span, error) {
	var pools []span
	for _, pool := range o.objects("allocation_pools") {
		start, err1 := netip.ParseAddr(pool.str("start"))
		end, err2 := netip.ParseAddr(pool.str("end"))
		if err1 != nil || err2 != nil {
			return nil, invalid("Invalid input for allocation_pools. Reason: '%v' is not a pool.", pool)
		}
		if end.Less(start) {
			return nil, refuse(400, "InvalidAllocationPool", "The allocation pool %s-%s is not valid.", start, end)
		}
		pools = append(pools, span{start, end})
	}
	return pools, nil
}

func checkPools(o object, prefix netip.Prefix) error {
	pools, err := poolsOf(o)
	if err != nil {
		return err
	}
	gateway, _ := netip.ParseAddr(o.str("gateway_ip"))
	for i, pool := range pools {
		if !prefix.Contains(pool.start) || !prefix.Contains(pool.end) {
			return refuse(400, "OutOfBoundsAllocationPool",
				"The allocation pool %s-%s spans beyond the subnet cidr %s.", pool.start, pool.end, prefix)
		}
		for _, other := range pools[:i] {
			if !pool.end.Less(other.start) && !other.end.Less(pool.start) {
				return conflicting("OverlappingAllocationPools",
					"Found overlapping allocation pools: %s-%s for subnet %s.", pool.start, pool.end, prefix)
			}
		}
		if gateway.IsValid() && !gateway.Less(pool.start) && !pool.end.Less(gateway) {
			return conflicting("GatewayConflictWithAllocationPools",
				"Gateway ip %s conflicts with allocation pool %s-%s.", gateway, pool.start, pool.end)
		}
	}
	return nil
}

// isMAC reports whether a word is six bytes in hex.
func isMAC(word string) bool {
	parts := strings.Split(word, ":")
	return len(parts) == 6 && !slices.ContainsFunc(parts, func(part string) bool {
		return len(part) != 2 || strings.Trim(strings.ToLower(part), "0123456789abcdef") != ""
	})
}
