package emulator

import (
	"net/http"
	"net/netip"
	"slices"
)

func routers() *resource {
	return neutronKind(&resource{
		single: "router", plural: "routers", name: "Router",
		attrs: attributes{
			"admin_state_up": {flag, cu, true}, "external_gateway_info": {anything, cu, nil},
			"distributed": {flag, cu | admin | hidden, false}, "ha": {flag, cu | admin | hidden, false},
			"availability_zone_hints": {list, create, []any{}}, "routes": {list, update, []any{}},
			"flavor_id": {identifier, create, nil},
		},
		prepare: func(_ *request, o object) error {
			o["status"], o["availability_zones"] = "ACTIVE", []any{}
			return nil
		},
		stored: func(rq *request, o object) error {
			info := o["external_gateway_info"]
			o["external_gateway_info"] = nil
			return rq.setGateway(o, info)
		},
		change: func(rq *request, old, change object) error {
			info, given := change["external_gateway_info"]
			if !given {
				return nil
			}
			if err := rq.setGateway(old, info); err != nil {
				return err
			}
			change["external_gateway_info"] = old["external_gateway_info"]
			return nil
		},
		remove: func(rq *request, o object) error {
			if len(rq.interfaces(o.id())) > 0 {
				return conflicting("RouterInUse", "Router %s still has ports", o.id())
			}
			return rq.clearGateway(o)
		},
	})
}

func (rq *request) interfaces(router string) []object {
	return rq.store().where("network/ports", func(p object) bool {
		return p.str("device_id") == router && p.str("device_owner") == ownerInterface
	})
}

func (rq *request) setGateway(router object, asked any) error {
	info := asObject(asked)
	id := info.str("network_id")
	if id == "" {
		return rq.clearGateway(router)
	}
	net, err := rq.known("network/networks", id)
	if err != nil {
		return err
	}
	if !net.flag("router:external") {
		return refuse(http.StatusBadRequest, "BadRequest", "Bad router request: Network %s is not an external network.", id)
	}
	if old := asObject(router["external_gateway_info"]); old.str("network_id") == id && info["external_fixed_ips"] == nil {
		return nil
	}
	if err := rq.clearGateway(router); err != nil {
		return err
	}
	fixed := info["external_fixed_ips"]
	if list, ok := fixed.([]any); ok && len(list) == 0 {
		fixed = nil
	}
	port, err := rq.makePort("", net, ownerGateway, router.id(), fixed)
	if err != nil {
		return err
	}
	snat := true
	if asked, given := info["enable_snat"].(bool); given {
		snat = asked
	}
	router["external_gateway_info"] = object{
		"network_id": id, "enable_snat": snat, "external_fixed_ips": port["fixed_ips"],
	}
	return nil
}

func (rq *request) clearGateway(router object) error {
	if used := rq.store().by("network/floatingips", "router_id", router.id()); len(used) > 0 {
		return conflicting("RouterExternalGatewayInUseByFloatingIp",
			"Gateway cannot be updated for router %s, since one or more floating IPs require it.",
			router.id())
	}
	for _, p := range rq.store().by("network/ports", "device_id", router.id()) {
		if p.str("device_owner") == ownerGateway {
			rq.store().remove("network/ports", p.id())
		}
	}
	router["external_gateway_info"] = nil
	return nil
}

func (s *Server) routerActions() {
	path := "PUT " + network.root + "/routers/{id}/"
	on := func(name string, do func(rq *request, router object) (any, error)) {
		s.guarded(network, path+name, func(rq *request) (any, error) {
			router, err := rq.known("network/routers", rq.PathValue("id"))
			if err != nil {
				return nil, err
			}
			return do(rq, router)
		})
	}
	on("add_router_interface", addInterface)
	on("remove_router_interface", removeInterface)
}

func badRouter(format string, args ...any) error {
	return refuse(http.StatusBadRequest, "BadRequest", "Bad router request: "+format, args...)
}

func addInterface(rq *request, router object) (any, error) {
	if (rq.body.str("subnet_id") == "") == (rq.body.str("port_id") == "") {
		return nil, badRouter("either subnet_id or port_id must be specified.")
	}
	if id := rq.body.str("port_id"); id != "" {
		return rq.addPort(router, id)
	}
	subnet, err := rq.known("network/subnets", rq.body.str("subnet_id"))
	if err != nil {
		return nil, err
	}
	if subnet["gateway_ip"] == nil {
		return nil, badRouter("Subnet for router interface must have a gateway IP.")
	}
	if err := rq.checkRouterSubnet(router, subnet); err != nil {
		return nil, err
	}
	net := rq.store().get("network/networks", subnet.str("network_id"))
	port, err := rq.makePort(router.str("project_id"), net, ownerInterface, router.id(),
		anys(object{"subnet_id": subnet.id(), "ip_address": subnet["gateway_ip"]}))
	if err != nil {
		return nil, err
	}
	port["_own"] = false // Only removing the interface deletes the port.
	return interfaceView(router, port, subnet.id()), nil
}

func (rq *request) addPort(router object, id string) (any, error) {
	port, err := rq.known("network/ports", id)
	if err != nil {
		return nil, err
	}
	if port.str("device_id") != "" {
		return nil, conflicting("PortInUse",
			"Unable to complete operation on port %s for network %s. Port already has an attached device %s.",
			id, port.str("network_id"), port.str("device_id"))
	}
	fixed := port.objects("fixed_ips")
	if len(fixed) == 0 {
		return nil, badRouter("A router port must have at least one fixed IP address.")
	}
	subnet := rq.store().get("network/subnets", fixed[0].str("subnet_id"))
	if err := rq.checkRouterSubnet(router, subnet); err != nil {
		return nil, err
	}
	port["device_id"], port["device_owner"], port["status"] = router.id(), ownerInterface, "ACTIVE"
	touch(rq, port)
	return interfaceView(router, port, subnet.id()), nil
}

// checkRouterSubnet allows one interface per subnet, and no overlapping subnets.
func (rq *request) checkRouterSubnet(router, subnet object) error {
	prefix := netip.MustParsePrefix(subnet.str("cidr"))
	for _, port := range rq.interfaces(router.id()) {
		for _, fixed := range port.objects("fixed_ips") {
			other := rq.store().get("network/subnets", fixed.str("subnet_id"))
			if other.id() == subnet.id() {
				return badRouter("Router already has a port on subnet %s.", subnet.id())
			}
			if netip.MustParsePrefix(other.str("cidr")).Overlaps(prefix) {
				return badRouter("Cidr %s of subnet %s overlaps with cidr %s of subnet %s.",
					prefix, subnet.id(), other.str("cidr"), other.id())
			}
		}
	}
	return nil
}

func interfaceView(router, port object, subnet string) any {
	return reply{status: http.StatusOK, body: object{
		"id": router.id(), "port_id": port.id(), "subnet_id": subnet, "subnet_ids": anys(subnet),
		"network_id": port["network_id"], "project_id": router["project_id"], "tenant_id": router["project_id"],
		"tags": router["tags"],
	}}
}

func removeInterface(rq *request, router object) (any, error) {
	wanted, subnet := rq.body.str("port_id"), rq.body.str("subnet_id")
	if wanted == "" && subnet == "" {
		return nil, badRouter("either subnet_id or port_id must be specified.")
	}
	for _, port := range rq.interfaces(router.id()) {
		fixed := port.objects("fixed_ips")
		if (wanted != "" && port.id() != wanted) || (subnet != "" && !slices.ContainsFunc(fixed, onSubnet(subnet))) {
			continue
		}
		for _, ip := range fixed {
			if rq.routesFloatingIP(router.id(), ip.str("subnet_id")) {
				return nil, conflicting("RouterInterfaceInUseByFloatingIP",
					"Router interface for subnet %s on router %s cannot be deleted, as it is required by one or more floating IPs.",
					ip.str("subnet_id"), router.id())
			}
			subnet = ip.str("subnet_id")
		}
		rq.store().remove("network/ports", port.id())
		return interfaceView(router, port, subnet), nil
	}
	if subnet != "" {
		if rq.store().get("network/subnets", subnet) == nil {
			return nil, absent("Subnet", subnet)
		}
		return nil, refuse(http.StatusNotFound, "RouterInterfaceNotFoundForSubnet",
			"Router %s has no interface on subnet %s", router.id(), subnet)
	}
	if rq.store().get("network/ports", wanted) == nil {
		return nil, absent("Port", wanted)
	}
	return nil, refuse(http.StatusNotFound, "RouterInterfaceNotFound",
		"Router %s does not have an interface with id %s", router.id(), wanted)
}

// routesFloatingIP reports whether a floating IP of the router leads into a subnet.
func (rq *request) routesFloatingIP(router, subnet string) bool {
	for _, fip := range rq.store().by("network/floatingips", "router_id", router) {
		port := rq.store().get("network/ports", fip.str("port_id"))
		if slices.ContainsFunc(port.objects("fixed_ips"), onSubnet(subnet)) {
			return true
		}
	}
	return false
}
