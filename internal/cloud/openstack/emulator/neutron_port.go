package emulator

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Owners of ports that are not servers.
const (
	ownerGateway    = "network:router_gateway"
	ownerInterface  = "network:router_interface"
	ownerFloatingIP = "network:floatingip"
)

func ports() *resource {
	return neutronKind(&resource{
		single: "port", plural: "ports", name: "Port",
		attrs: attributes{
			"network_id": {identifier, create | required, nil}, "admin_state_up": {flag, cu, true},
			"mac_address": {text, cu, ""}, "fixed_ips": {anything, cu, unset}, "device_id": {text, cu, ""},
			"device_owner": {text, cu, ""}, "security_groups": {anything, cu, unset},
			"allowed_address_pairs": {list, cu, []any{}}, "port_security_enabled": {flag, cu, nil},
			"binding:host_id": {text, cu | admin | hidden, ""}, "binding:vnic_type": {text, cu, "normal"},
			"binding:profile":         {dict, cu | admin | hidden, object{}},
			"propagate_uplink_status": {flag, create, true}, "qos_policy_id": {identifier, cu, nil},
			"dns_name": {text, cu, ""}, "dns_domain": {text, cu, ""}, "extra_dhcp_opts": {list, cu, []any{}},
			"tags": {list, create, []any{}}, "numa_affinity_policy": {text, cu | admin | nullable, nil},
		},
		visible: func(rq *request, o object) bool {
			return owned(rq, o) || rq.store().get("network/networks", o.str("network_id")).str("project_id") == rq.token.project
		},
		prepare: preparePort,
		change:  changePort,
		remove:  removePort,
		view: func(_ *request, o object) object {
			if host, has := o["binding:host_id"]; has {
				o["binding:vif_type"], o["binding:vif_details"] = "unbound", object{}
				if host != "" {
					o["binding:vif_type"] = "ovs"
				}
			}
			return o
		},
	})
}

func preparePort(rq *request, o object) error {
	net, err := rq.known("network/networks", o.str("network_id"))
	if err != nil {
		return err
	}
	mine := rq.token.admin() || net.str("project_id") == rq.token.project
	if !mine && !net.flag("shared") {
		return forbidden("rule:create_port is disallowed by policy")
	}
	if o["port_security_enabled"] == nil {
		o["port_security_enabled"] = net["port_security_enabled"]
	}
	if err := rq.fillMAC(o); err != nil {
		return err
	}
	if err := rq.fillGroups(o); err != nil {
		return err
	}
	if err := checkSecurity(o); err != nil {
		return err
	}
	if err := completePairs(o); err != nil {
		return err
	}
	if o["fixed_ips"], err = rq.allocate(net, o, o["fixed_ips"]); err != nil {
		return err
	}
	o["status"] = portStatus(o)
	return nil
}

// portStatus: without agents there is nothing between bound and ACTIVE.
func portStatus(o object) string {
	owner := o.str("device_owner")
	if o.str("binding:host_id") != "" || owner == ownerGateway || owner == ownerInterface {
		return "ACTIVE"
	}
	if owner == ownerFloatingIP {
		return "N/A"
	}
	return "DOWN"
}

func (rq *request) fillMAC(o object) error {
	address := o.str("mac_address")
	if address == "" {
		h := randomHex(3)
		address = "fa:16:3e:" + h[:2] + ":" + h[2:4] + ":" + h[4:]
	}
	if !isMAC(address) {
		return invalid("Invalid input for mac_address. Reason: '%s' is not a valid MAC address.", address)
	}
	o["mac_address"] = address
	taken := rq.portsOf(o.str("network_id"), func(p object) bool {
		return p.id() != o.id() && strings.EqualFold(p.str("mac_address"), address)
	})
	if len(taken) > 0 {
		return conflicting("MacAddressInUse", "Unable to complete operation for network %s. The mac address %s is in use.",
			o.str("network_id"), address)
	}
	return nil
}

func (rq *request) fillGroups(o object) error {
	if o["security_groups"] == unset || (o["security_groups"] == nil && o.flag("port_security_enabled")) {
		o["security_groups"] = []any{}
		if o.flag("port_security_enabled") && !strings.HasPrefix(o.str("device_owner"), "network:") {
			if err := rq.defaultGroup(o.str("project_id")); err != nil {
				return err
			}
			o["security_groups"] = anys(rq.findDefaultGroup(o.str("project_id")).id())
		}
	}
	if o["security_groups"] == nil {
		o["security_groups"] = []any{}
	}
	for _, id := range o.strings("security_groups") {
		if _, err := rq.known("network/security_groups", id); err != nil {
			return err
		}
	}
	return nil
}

func checkSecurity(o object) error {
	if o.flag("port_security_enabled") {
		return nil
	}
	if len(o.list("security_groups")) > 0 {
		return refuse(400, "PortSecurityAndIPRequiredForSecurityGroups",
			"Port security must be enabled and port must have an IP address in order to use security groups.")
	}
	if len(o.list("allowed_address_pairs")) > 0 {
		return conflicting("AddressPairAndPortSecurityRequired",
			"Port Security must be enabled in order to have allowed address pairs on a port.")
	}
	return nil
}

// completePairs gives allowed address pairs without a MAC address the port's.
func completePairs(o object) error {
	pairs := []any{}
	for _, pair := range o.objects("allowed_address_pairs") {
		_, bad := netip.ParsePrefix(pair.str("ip_address"))
		if _,
			err := netip.ParseAddr(pair.str("ip_address")); err != nil && bad != nil {
			return invalid("Invalid input for allowed_address_pairs. Reason: '%s' is not a valid IP address.",
				pair.str("ip_address"))
		}
		address := pair.str("mac_address")
		if address == "" {
			address = o.str("mac_address")
		}
		whole := object{"ip_address": pair["ip_address"], "mac_address": address}
		if slices.ContainsFunc(pairs, func(other any) bool { return same(other, whole) }) {
			return refuse(400, "DuplicateAddressPairInRequest", "Request contains duplicate address pair.")
		}
		pairs = append(pairs, whole)
	}
	slices.SortFunc(pairs, func(a, b any) int { return strings.Compare(pairKey(asObject(a)), pairKey(asObject(b))) })
	o["allowed_address_pairs"] = pairs
	return nil
}

// pairKey is the key by which the database orders pairs.
func pairKey(pair object) string {
	return strings.ToLower(pair.str("mac_address") + " " + pair.str("ip_address"))
}

func changePort(rq *request, old, change object) error {
	after := object{}
	maps.Copy(after, old)
	maps.Copy(after, change)
	if _, given := change["mac_address"]; given {
		if err := rq.fillMAC(after); err != nil {
			return err
		}
	}
	if err := rq.fillGroups(after); err != nil {
		return err
	}
	if err := checkSecurity(after); err != nil {
		return err
	}
	if err := completePairs(after); err != nil {
		return err
	}
	if asked, given := change["fixed_ips"]; given {
		net := rq.store().get("network/networks", old.str("network_id"))
		fixed, err := rq.allocate(net, after, asked)
		if err != nil {
			return err
		}
		change["fixed_ips"] = fixed
	}
	for _, key := range []string{"security_groups", "allowed_address_pairs", "mac_address"} {
		change[key] = after[key]
	}
	change["status"] = portStatus(after)
	return nil
}

func removePort(rq *request, o object) error {
	if owner := o.str("device_owner"); slices.Contains([]string{ownerGateway, ownerInterface, ownerFloatingIP}, owner) {
		return conflicting("ServicePortInUse",
			"Port %s cannot be deleted directly via the port API: has device owner %s.", o.id(), owner)
	}
	if parent := rq.store().by("network/trunks", "port_id", o.id()); len(parent) > 0 {
		return conflicting("PortInUseAsTrunkParent",
			"Port %s is currently a parent port for trunk %s.", o.id(), parent[0].id())
	}
	if trunk := rq.trunkOf(o.id()); trunk != nil {
		return conflicting("PortInUseAsSubPort",
			"Port %s is currently a subport for trunk %s.", o.id(), trunk.id())
	}
	rq.dropPort(o)
	return nil
}

// dropPort removes a port and frees the floating IPs of the port.
func (rq *request) dropPort(o object) {
	for _, fip := range rq.store().by("network/floatingips", "port_id", o.id()) {
		fip["port_id"], fip["fixed_ip_address"], fip["router_id"], fip["status"] = nil, nil, nil, "DOWN"
		touch(rq, fip)
	}
	rq.store().remove("network/ports", o.id())
}

// makePort makes a port of the cloud's own, for a router or a floating IP.
func (rq *request) makePort(project string, net object, owner, device string, fixed any) (object, error) {
	p := object{
		"id": uuid.NewString(), "network_id": net.id(), "name": "", "description": "", "admin_state_up": true,
		"project_id": project, "tenant_id": project, "device_owner": owner, "device_id": device,
		"security_groups": []any{}, "allowed_address_pairs": []any{}, "port_security_enabled": false,
		"binding:host_id": "", "binding:vnic_type": "normal", "binding:profile": object{}, "tags": []any{},
		"propagate_uplink_status": false, "dns_name": "", "extra_dhcp_opts": []any{}, "qos_policy_id": nil,
		"revision_number": 1, "created_at": stamp(network, rq.now), "updated_at": stamp(network, rq.now), "_own": true,
	}
	if err := rq.fillMAC(p); err != nil {
		return nil, err
	}
	var err error
	if p["fixed_ips"], err = rq.allocate(net, p, fixed); err != nil {
		return nil, err
	}
	p["status"] = portStatus(p)
	rq.store().put("network/ports", p)
	return p, nil
}
