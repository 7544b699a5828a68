package emulator

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

func securityGroups() *resource {
	return neutronKind(&resource{
		single: "security_group", plural: "security_groups", name: "SecurityGroup",
		attrs: attributes{"stateful": {flag, cu, true}},
		prepare: func(rq *request, o object) error {
			if err := rq.defaultGroup(o.str("project_id")); err != nil {
				return err
			}
			if o.str("name") == "default" {
				return conflicting("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
			}
			return nil
		},
		stored: func(rq *request, o object) error { rq.defaultRules(o); return nil },
		change: func(rq *request, old, change object) error {
			name, renamed := change["name"].(string)
			if renamed && old.str("name") == "default" && name != "default" {
				return conflicting("SecurityGroupCannotUpdateDefault", "Updating the default security group not allowed.")
			}
			stateful, given := change["stateful"].(bool)
			if given && stateful != old.flag("stateful") && rq.groupUsed(old.id()) {
				return conflicting("SecurityGroupInUse", "Security Group %s is in use.", old.id())
			}
			return nil
		},
		remove: func(rq *request, o object) error {
			if rq.groupUsed(o.id()) {
				return conflicting("SecurityGroupInUse", "Security Group %s in use.", o.id())
			}
			if o.str("name") == "default" && !rq.token.admin() {
				return conflicting("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
			}
			for _, rule := range rq.store().where("network/security_group_rules", func(rule object) bool {
				return rule.str("security_group_id") == o.id() || rule.str("remote_group_id") == o.id()
			}) {
				rq.store().remove("network/security_group_rules", rule.id())
			}
			return nil
		},
		view: func(rq *request, o object) object {
			rules := rq.store().by("network/security_group_rules", "security_group_id", o.id())
			inner := make([]any, 0, len(rules))
			for _, rule := range rules {
				inner = append(inner, visibleKeys(rule))
			}
			o["security_group_rules"], o["shared"] = inner, false
			return o
		},
	})
}

func (rq *request) groupUsed(id string) bool {
	return len(rq.store().where("network/ports", func(p object) bool {
		return slices.Contains(p.strings("security_groups"), id)
	})) > 0
}

func (rq *request) findDefaultGroup(project string) object {
	return first(rq.store().where("network/security_groups", func(o object) bool {
		return o.str("project_id") == project && o.str("name") == "default"
	}))
}

// defaultGroup makes a project's default group when the group is first needed. The inventory
// leaves the group out, since no client made it.
func (rq *request) defaultGroup(project string) error {
	if project == "" || rq.findDefaultGroup(project) != nil {
		return nil
	}
	now := stamp(network, rq.now)
	group := object{
		"id": uuid.NewString(), "name": "default", "description": "Default security group", "stateful": true,
		"project_id": project, "tenant_id": project, "tags": []any{}, "revision_number": 1,
		"created_at": now, "updated_at": now, "_own": true,
	}
	rq.store().put("network/security_groups", group)
	rq.defaultRules(group)
	for _, version := range []string{"IPv4", "IPv6"} {
		rq.putRule(group, object{"direction": "ingress", "ethertype": version, "remote_group_id": group.id()})
	}
	return nil
}

// defaultRules let everything out.
func (rq *request) defaultRules(group object) {
	for _, version := range []string{"IPv4", "IPv6"} {
		rq.putRule(group, object{"direction": "egress", "ethertype": version})
	}
}

func (rq *request) putRule(group, rule object) {
	now := stamp(network, rq.now)
	whole := object{
		"id": uuid.NewString(), "security_group_id": group.id(),
		"project_id": group["project_id"], "tenant_id": group["project_id"],
		"protocol": nil, "port_range_min": nil, "port_range_max": nil, "remote_ip_prefix": nil, "remote_group_id": nil,
		"remote_address_group_id": nil, "description": "", "tags": []any{}, "revision_number": 0,
		"created_at": now, "updated_at": now, "normalized_cidr": nil, "_own": true,
	}
	maps.Copy(whole, rule)
	rq.store().put("network/security_group_rules", whole)
}

func rules() *resource {
	res := neutronKind(&resource{
		single: "security_group_rule", plural: "security_group_rules", name: "SecurityGroupRule",
		attrs: attributes{
			"security_group_id": {identifier, create | required, nil}, "direction": {text, create | required, nil},
			"ethertype": {text, create, "IPv4"}, "protocol": {anything, create, nil},
			"port_range_min": {number, create, nil}, "port_range_max": {number, create, nil},
			"remote_ip_prefix": {text, create | nullable, nil}, "remote_group_id": {identifier, create, nil},
			"remote_address_group_id": {identifier, create, nil}, "name": {text, ro, nil},
		},
		prepare: func(rq *request, o object) error {
			delete(o, "name")
			group, err := rq.known("network/security_groups", o.str("security_group_id"))
			if err != nil {
				return err
			}
			o["project_id"], o["tenant_id"] = group["project_id"], group["project_id"]
			if remote := o.str("remote_group_id"); remote != "" {
				if _, err := rq.known("network/security_groups", remote); err != nil {
					return err
				}
			}
			if err := checkRule(o); err != nil {
				return err
			}
			return rq.uniqueRule(o)
		},
	})
	res.tags, res.verb = false, ""
	return res
}

// knownProtocols are the names that Neutron takes, with their numbers.
var knownProtocols = map[string]int{
	"ah": 51, "dccp": 33, "egp": 8, "esp": 50, "gre": 47, "icmp": 1, "icmpv6": 58, "igmp": 2, "ipip": 4,
	"ipv6-encap": 41, "ipv6-frag": 44, "ipv6-icmp": 58, "ipv6-nonxt": 59, "ipv6-opts": 60, "ipv6-route": 43,
	"ospf": 89, "pgm": 113, "rsvp": 46, "sctp": 132, "tcp": 6, "udp": 17, "udplite": 136, "vrrp": 112,
}

// oldProtocols are other names that Neutron has for protocols in IPv6 rules.
var oldProtocols = map[string]string{"icmp": "ipv6-icmp", "icmpv6": "ipv6-icmp", "1": "58"}

func nowCalled(protocol, version string) string {
	if other, old := oldProtocols[protocol]; old && version == "IPv6" {
		return other
	}
	return protocol
}

func checkRule(o object) error {
	if word := o.str("direction"); word != "ingress" && word != "egress" {
		return invalid("Invalid input for direction. Reason: '%s' is not in ['ingress', 'egress'].", word)
	}
	if word := o.str("ethertype"); word != "IPv4" && word != "IPv6" {
		return invalid("Invalid input for ethertype. Reason: '%s' is not in ['IPv4', 'IPv6'].", word)
	}
	if o["remote_ip_prefix"] != nil && o["remote_group_id"] != nil {
		return refuse(http.StatusBadRequest, "SecurityGroupMultipleRemoteEntites",
			"Only remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.")
	}
	if o.num("port_range_min") == 1 && o.num("port_range_max") == 65535 {
		o["port_range_min"], o["port_range_max"] = nil, nil // All ports mean the same as no ports.
	}
	if err := checkProtocol(o); err != nil {
		return err
	}
	return checkPrefix(o)
}

func checkProtocol(o object) error {
	protocol, hasPorts := o["protocol"], o["port_range_min"] != nil || o["port_range_max"] != nil
	if protocol == nil || protocol == "any" || protocol == "" {
		o["protocol"] = nil
		if hasPorts {
			return refuse(http.StatusBadRequest, "SecurityGroupProtocolRequiredWithPorts",
				"Must also specify protocol if port range is given.")
		}
		return nil
	}
	word := strings.ToLower(strings.TrimSuffix(textOf(protocol), ".0"))
	value, known := knownProtocols[word]
	if parsed, err := strconv.Atoi(word); err == nil && parsed >= 0 && parsed <= 255 {
		value, known = parsed, true
	}
	if !known {
		return refuse(http.StatusBadRequest, "SecurityGroupRuleInvalidProtocol",
			"Security group rule protocol %s not supported.", word)
	}
	if o.str("ethertype") == "IPv4" && (value == 58 || strings.HasPrefix(word, "ipv6-")) {
		return refuse(http.StatusBadRequest, "SecurityGroupEthertypeConflictWithProtocol",
			"Invalid ethertype IPv4 for protocol %s.", word)
	}
	o["protocol"] = nowCalled(word, o.str("ethertype"))
	if value == 1 || value == 58 {
		return checkICMP(o)
	}
	return checkRange(o, value)
}

func checkICMP(o object) error {
	if o["port_range_min"] == nil && o["port_range_max"] != nil {
		return refuse(http.StatusBadRequest, "SecurityGroupMissingIcmpType",
			"ICMP code is provided but ICMP type is missing.")
	}
	for _, key := range []string{"port_range_min", "port_range_max"} {
		if o[key] != nil && (o.num(key) < 0 || o.num(key) > 255) {
			return refuse(http.StatusBadRequest, "SecurityGroupInvalidIcmpValue", "Invalid value for ICMP: %d.", o.num(key))
		}
	}
	return nil
}

func checkRange(o object, protocol int) error {
	if o["port_range_min"] == nil && o["port_range_max"] == nil {
		return nil
	}
	if !slices.Contains([]int{6, 17, 33, 132, 136}, protocol) {
		return refuse(http.StatusBadRequest, "SecurityGroupInvalidProtocolForPort",
			"Invalid protocol %v for port range, only supported for TCP, UDP, UDPLITE, SCTP and DCCP.", o["protocol"])
	}
	low, high := o.num("port_range_min"), o.num("port_range_max")
	whole := o["port_range_min"] != nil && o["port_range_max"] != nil
	if whole && (low == 0 || high == 0) {
		return refuse(http.StatusBadRequest, "SecurityGroupInvalidPortValue", "Invalid value for port 0.")
	}
	if !whole || low > high || low < 0 || high > 65535 {
		return refuse(http.StatusBadRequest, "SecurityGroupInvalidPortRange",
			"For TCP/UDP protocols, port_range_min must be <= port_range_max")
	}
	return nil
}

func checkPrefix(o object) error {
	word := o.str("remote_ip_prefix")
	if word == "" {
		o["remote_ip_prefix"] = nil
		return nil
	}
	prefix, err := netip.ParsePrefix(word)
	if address, single := netip.ParseAddr(word); single == nil {
		prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "InvalidCIDR", "Invalid CIDR %s given as IP prefix.", word)
	}
	if prefix.Addr().Is4() != (o.str("ethertype") == "IPv4") {
		return refuse(http.StatusBadRequest, "SecurityGroupRuleParameterConflict",
			"Conflicting value ethertype %s for CIDR %s", o.str("ethertype"), word)
	}
	o["remote_ip_prefix"], o["normalized_cidr"] = prefix.String(), prefix.Masked().String()
	return nil
}

// uniqueRule refuses a rule that the group has already. Protocols are the same by
// number, prefixes by their text, host bits included.
func (rq *request) uniqueRule(o object) error {
	key := func(rule object) [7]string {
		protocol := rule.str("protocol")
		if value, known := knownProtocols[protocol]; known {
			protocol = strconv.Itoa(value)
		}
		return [7]string{
			rule.str("direction"), rule.str("ethertype"), protocol, coverage(rule), rule.str("remote_group_id"),
			textOf(rule["port_range_min"]), textOf(rule["port_range_max"]),
		}
	}
	for _, other := range rq.store().by("network/security_group_rules", "security_group_id", o.str("security_group_id")) {
		if key(other) == key(o) {
			return conflicting("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", other.id())
		}
	}
	return nil
}

// coverage normalises a rule's prefix: everything means the same as no prefix.
func coverage(rule object) string {
	prefix := rule.str("remote_ip_prefix")
	if prefix == "0.0.0.0/0" || prefix == "::/0" {
		return ""
	}
	return prefix
}
