package emulator

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// allocate turns the fixed IPs of a port's request into addresses. Without the field, the port
// gets one address of each version; an empty list means none. Subnets with SLAAC can't be asked
// for: each port has an address there, except ports of routers.
func (rq *request) allocate(net, port object, asked any) ([]any, error) {
	fixed := []any{}
	list, given := asked.([]any)
	if asked == unset || asked == nil {
		for _, version := range []int{4, 6} {
			candidates := rq.subnetsOf(net.id(), func(o object) bool { return o.num("ip_version") == version && !automatic(o) })
			if len(candidates) == 0 {
				continue
			}
			address, subnet, err := rq.freeAddress(net.id(), candidates, port.id(), fixed)
			if err != nil {
				return nil, err
			}
			fixed = append(fixed, fixedIP(subnet, address))
		}
	} else if !given {
		return nil, invalid("Invalid input for fixed_ips. Reason: '%v' is not a list.", asked)
	}
	for _, element := range list {
		one, err := rq.allocateOne(net, port, asObject(element), fixed)
		if err != nil {
			return nil, err
		}
		fixed = append(fixed, one)
	}
	if ofRouter(port) {
		return fixed, nil
	}
	for _, subnet := range rq.subnetsOf(net.id(), automatic) {
		fixed = withAutomatic(fixed, subnet, port)
	}
	return fixed, nil
}

func ofRouter(port object) bool { return strings.HasPrefix(port.str("device_owner"), "network:router") }

func fixedIP(subnet object, address string) object {
	return object{"subnet_id": subnet.id(), "ip_address": address}
}

// subnetsOf returns the subnets of a network for which match holds.
func (rq *request) subnetsOf(net string, match func(object) bool) []object {
	return rq.store().where("network/subnets", func(o object) bool {
		return o.str("network_id") == net && (match == nil || match(o))
	})
}

// automatic reports whether hosts make their own addresses from a router's announcements
// (SLAAC).
func automatic(subnet object) bool {
	return slices.ContainsFunc([]string{"slaac", "dhcpv6-stateless"}, func(mode string) bool {
		return subnet.str("ipv6_address_mode") == mode || subnet.str("ipv6_ra_mode") == mode
	})
}

// withAutomatic adds the SLAAC address of a port in a subnet, if the port has none.
func withAutomatic(fixed []any, subnet, port object) []any {
	if slices.ContainsFunc(fixed, func(f any) bool { return onSubnet(subnet.id())(asObject(f)) }) {
		return fixed
	}
	return append(fixed, fixedIP(subnet, autoAddress(subnet, port)))
}

// autoAddress is made of the hardware address: RFC 4291, appendix A.
func autoAddress(subnet, port object) string {
	raw := netip.MustParsePrefix(subnet.str("cidr")).Addr().As16()
	if mac, err := net.ParseMAC(port.str("mac_address")); err == nil && len(mac) == 6 {
		copy(raw[8:], []byte{mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]})
	}
	return netip.AddrFrom16(raw).String()
}

// announce gives the ports of a network their addresses in a new subnet; conceal removes the
// addresses.
func (rq *request) announce(subnet object) {
	for _, port := range rq.portsOf(subnet.str("network_id"), func(p object) bool { return !ofRouter(p) }) {
		port["fixed_ips"] = withAutomatic(port.list("fixed_ips"), subnet, port)
	}
}

func (rq *request) conceal(subnet object) {
	for _, port := range rq.portsOf(subnet.str("network_id"), nil) {
		port["fixed_ips"] = slices.DeleteFunc(slices.Clone(port.list("fixed_ips")), func(f any) bool {
			return onSubnet(subnet.id())(asObject(f))
		})
	}
}

func (rq *request) allocateOne(net, port, ask object, mine []any) (object, error) {
	candidates := rq.subnetsOf(net.id(), nil)
	if id := ask.str("subnet_id"); id != "" {
		subnet := rq.store().get("network/subnets", id)
		if subnet == nil {
			return nil, absent("Subnet", id)
		}
		if subnet.str("network_id") != net.id() {
			return nil, invalidInput("Failed to create port on network %s, because fixed_ips included invalid subnet %s.",
				net.id(), id)
		}
		candidates = []object{subnet}
	}
	wanted := ask.str("ip_address")
	if wanted == "" {
		if len(candidates) == 1 && automatic(candidates[0]) && !ofRouter(port) {
			return fixedIP(candidates[0], autoAddress(candidates[0], port)), nil
		}
		address, subnet, err := rq.freeAddress(net.id(), candidates, port.id(), mine)
		return fixedIP(subnet, address), err
	}
	address, err := netip.ParseAddr(wanted)
	if err != nil {
		return nil, invalid("Invalid input for fixed_ips. Reason: '%s' is not a valid IP address.", wanted)
	}
	for _, subnet := range candidates {
		if !forHosts(netip.MustParsePrefix(subnet.str("cidr")), address) {
			continue
		}
		if automatic(subnet) && !ofRouter(port) {
			return nil, refuse(400, "AllocationOnAutoAddressSubnet", "IPv6 address %s cannot be directly assigned to a port "+
				"on subnet %s as the subnet is configured for automatic addresses", address, subnet.id())
		}
		if rq.taken(net.id(), address.String(), port.id()) {
			return nil, conflicting("IpAddressAlreadyAllocated",
				"IP address %s already allocated in subnet %s", address, subnet.id())
		}
		return fixedIP(subnet, address.String()), nil
	}
	if ask.str("subnet_id") != "" {
		return nil, refuse(400, "InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", address)
	}
	return nil, refuse(400, "InvalidIpForNetwork",
		"IP address %s is not a valid IP for any of the subnets on the specified network.", address)
}

// forHosts reports whether a host may have an address of a prefix. In IPv4 the first address is
// the network's and the last for broadcasts.
func forHosts(prefix netip.Prefix, address netip.Addr) bool {
	if !prefix.Contains(address) {
		return false
	}
	return address.Is6() || prefix.Bits() >= 31 || (address != prefix.Addr() && !lastOf(prefix).Less(address))
}

// taken reports whether another port of the network has an address in fixed_ips.
func (rq *request) taken(net, address, port string) bool {
	return len(rq.portsOf(net, func(p object) bool {
		return p.id() != port && slices.ContainsFunc(p.objects("fixed_ips"), func(fixed object) bool {
			return fixed.str("ip_address") == address
		})
	})) > 0
}

// freeAddress returns the first free address of the subnets' pools.
func (rq *request) freeAddress(net string, subnets []object, port string, mine []any) (string, object, error) {
	used := map[string]bool{}
	for _, p := range rq.portsOf(net, func(p object) bool { return p.id() != port }) {
		for _, fixed := range p.objects("fixed_ips") {
			used[fixed.str("ip_address")] = true
		}
	}
	for _, fixed := range mine {
		used[asObject(fixed).str("ip_address")] = true
	}
	for _, subnet := range subnets {
		pools, err := poolsOf(subnet)
		if err != nil {
			return "", nil, err
		}
		for _, pool := range pools {
			for address := pool.start; address.IsValid() && !pool.end.Less(address); address = address.Next() {
				if !used[address.String()] {
					return address.String(), subnet, nil
				}
			}
		}
	}
	return "", nil, conflicting("IpAddressGenerationFailure", "No more IP addresses available on network %s.", net)
}
