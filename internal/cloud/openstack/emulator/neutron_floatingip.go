package emulator

import (
	"fmt"
	"net/http"
)

func textOf(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

func floatingIPs() *resource {
	return neutronKind(&resource{
		single: "floatingip", plural: "floatingips", name: "FloatingIP",
		attrs: attributes{
			"floating_network_id": {identifier, create | required, nil}, "subnet_id": {identifier, create, nil},
			"floating_ip_address": {text, create | admin | nullable, nil}, "port_id": {identifier, cu, nil},
			"fixed_ip_address": {text, cu | nullable, nil}, "qos_policy_id": {identifier, cu, nil},
			"dns_name": {text, create, ""}, "dns_domain": {text, create, ""}, "name": {text, ro, nil},
		},
		extraFilters: []string{"router_id"},
		prepare:      prepareFloatingIP,
		change: func(rq *request, old, change object) error {
			_, moved := change["port_id"]
			if !moved {
				if change["fixed_ip_address"] != nil {
					return refuse(http.StatusBadRequest, "BadRequest", "fixed_ip_address cannot be specified without a port_id")
				}
				// The address of its port is chosen anew whatever else is changed.
				if port := rq.store().get("network/ports", old.str("port_id")); port != nil {
					_, err := choose(port, "")
					return err
				}
				return nil
			}
			target := object{
				"id": old.id(), "floating_network_id": old["floating_network_id"], "port_id": change["port_id"],
				"fixed_ip_address": change["fixed_ip_address"], "floating_ip_address": old["floating_ip_address"],
			}
			if err := rq.associate(target); err != nil {
				return err
			}
			for _, key := range []string{"fixed_ip_address", "router_id", "status"} {
				change[key] = target[key]
			}
			return nil
		},
		remove: func(rq *request, o object) error {
			for _, p := range rq.store().by("network/ports", "device_id", o.id()) {
				rq.store().remove("network/ports", p.id())
			}
			return nil
		},
		view: func(rq *request, o object) object {
			delete(o, "subnet_id")
			delete(o, "name")
			o["port_details"], o["port_forwardings"] = nil, []any{}
			if p := rq.store().get("network/ports", o.str("port_id")); p != nil {
				o["port_details"] = pick(p, []string{
					"name", "network_id", "mac_address", "admin_state_up", "status", "device_id", "device_owner",
				})
			}
			return o
		},
	})
}

func prepareFloatingIP(rq *request, o object) error {
	net, err := rq.known("network/networks", o.str("floating_network_id"))
	if err != nil {
		return err
	}
	if !net.flag("router:external") {
		return refuse(http.StatusBadRequest, "BadRequest",
			"Bad floatingip request: Network %s is not a valid external network.", net.id())
	}
	var fixed any
	ask := object{}
	if subnet := o.str("subnet_id"); subnet != "" {
		ask["subnet_id"] = subnet
	}
	if address := o.str("floating_ip_address"); address != "" {
		ask["ip_address"] = address
	}
	if len(ask) > 0 {
		fixed = anys(ask)
	}
	if err := rq.associate(o); err != nil {
		return err
	}
	port, err := rq.makePort("", net, ownerFloatingIP, o.id(), fixed)
	if err != nil {
		return err
	}
	addresses := port.objects("fixed_ips")
	if len(addresses) == 0 {
		rq.store().remove("network/ports", port.id())
		return conflicting("ExternalIpAddressExhausted", "Unable to find any IP address on external network %s.", net.id())
	}
	o["floating_ip_address"] = addresses[0]["ip_address"]
	return nil
}

// associate finds the router which leads from a floating IP to its port.
func (rq *request) associate(o object) error {
	o["router_id"], o["status"] = nil, "DOWN"
	id := o.str("port_id")
	if id == "" {
		if o["fixed_ip_address"] != nil {
			return refuse(http.StatusBadRequest, "BadRequest", "fixed_ip_address cannot be specified without a port_id")
		}
		return nil
	}
	port, err := rq.known("network/ports", id)
	if err != nil {
		return err
	}
	fixed, err := choose(port, o.str("fixed_ip_address"))
	if err != nil {
		return err
	}
	for _, other := range rq.store().by("network/floatingips", "port_id", id) {
		if other.id() != o.id() && other["fixed_ip_address"] == fixed["ip_address"] &&
			other["floating_network_id"] == o["floating_network_id"] {
			return conflicting("FloatingIPPortAlreadyAssociated",
				"Cannot associate floating IP with port %s: its fixed IP %s already has one on external network %s.",
				id, fixed.str("ip_address"), o.str("floating_network_id"))
		}
	}
	router := rq.routerBetween(fixed.str("subnet_id"), o.str("floating_network_id"))
	if router == nil {
		return refuse(http.StatusNotFound, "ExternalGatewayForFloatingIPNotFound",
			"External network %s is not reachable from subnet %s.", o.str("floating_network_id"), fixed.str("subnet_id"))
	}
	o["router_id"], o["fixed_ip_address"], o["status"] = router.id(), fixed["ip_address"], "ACTIVE"
	return nil
}

// choose returns the fixed address of a port that a floating IP leads to.
func choose(port object, wanted string) (object, error) {
	var found []object
	for _, fixed := range port.objects("fixed_ips") {
		if wanted == "" || fixed.str("ip_address") == wanted {
			found = append(found, fixed)
		}
	}
	switch {
	case len(found) == 0 && wanted == "":
		return nil, refuse(http.StatusBadRequest, "BadRequest",
			"Bad floatingip request: Cannot add floating IP to port %s that has no fixed IPv4 addresses.", port.id())
	case len(found) == 0:
		return nil, refuse(http.StatusBadRequest, "BadRequest",
			"Bad floatingip request: Port %s does not have fixed ip %s.", port.id(), wanted)
	case len(found) > 1:
		return nil, refuse(http.StatusBadRequest, "BadRequest",
			"Bad floatingip request: Port %s has multiple fixed IPv4 addresses. Must provide a specific one.", port.id())
	default:
		return found[0], nil
	}
}

func (rq *request) routerBetween(subnet, external string) object {
	return first(rq.store().where("network/routers", func(router object) bool {
		if asObject(router["external_gateway_info"]).str("network_id") != external {
			return false
		}
		for _, port := range rq.interfaces(router.id()) {
			for _, fixed := range port.objects("fixed_ips") {
				if fixed.str("subnet_id") == subnet {
					return true
				}
			}
		}
		return false
	}))
}
