package securitygroup

import (
	"slices"

	"k8s.io/utils/ptr"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// rule is one rule of a security group in Neutron's JSON.
type rule struct {
	ID          string  `json:"id,omitempty"`
	Group       string  `json:"security_group_id,omitempty"`
	Direction   string  `json:"direction"`
	Ethertype   string  `json:"ethertype"`
	Protocol    *string `json:"protocol,omitempty"`
	Min         *int32  `json:"port_range_min,omitempty"`
	Max         *int32  `json:"port_range_max,omitempty"`
	Prefix      *string `json:"remote_ip_prefix,omitempty"`
	RemoteGroup *string `json:"remote_group_id,omitempty"`
	// AddressGroup is never wanted: a rule with an address group is another rule.
	AddressGroup *string `json:"remote_address_group_id,omitempty"`
	Description  string  `json:"description,omitempty"`
}

// key has the fields by which Neutron distinguishes rules. The description is not one of them.
type key struct {
	direction, ethertype, protocol, prefix, group, addressGroup string
	low, high                                                   int32
}

// everything are the prefixes that mean the same as no prefix.
var everything = []string{"0.0.0.0/0", "::/0"}

// key returns equal keys for rules that mean the same in any spelling. A rule without a prefix
// equals a rule for 0.0.0.0/0: Neutron refuses the second of them, so they must not count as
// two rules.
func (r *rule) key() key {
	k := key{
		direction: r.Direction, ethertype: r.Ethertype, protocol: number(r), group: ptr.Deref(r.RemoteGroup, ""),
		addressGroup: ptr.Deref(r.AddressGroup, ""), prefix: kit.CanonicalAddress(ptr.Deref(r.Prefix, "")),
		low: ptr.Deref(r.Min, -1), high: ptr.Deref(r.Max, -1),
	}
	if slices.Contains(everything, k.prefix) {
		k.prefix = ""
	}
	if k.low == 1 && k.high == 65535 { // Neutron drops a range of all ports.
		k.low, k.high = -1, -1
	}
	return k
}

// numbers has the protocol numbers of protocol names. Some protocols have several names.
var numbers = map[string]string{
	"ah": "51", "dccp": "33", "egp": "8", "esp": "50", "gre": "47", "icmp": "1", "icmpv6": "58", "igmp": "2", "ipip": "4",
	"ipv6-encap": "41", "ipv6-frag": "44", "ipv6-icmp": "58", "ipv6-nonxt": "59", "ipv6-opts": "60", "ipv6-route": "43",
	"ospf": "89", "pgm": "113", "rsvp": "46", "sctp": "132", "tcp": "6", "udp": "17", "udplite": "136", "vrrp": "112",
}

// number returns the protocol number of a rule.
func number(r *rule) string {
	protocol := ptr.Deref(r.Protocol, "")
	if known, named := numbers[protocol]; named {
		protocol = known
	}
	if r.Ethertype == "IPv6" && protocol == "1" { // In IPv6, ICMP has the protocol number 58.
		return "58"
	}
	return protocol
}

func same(a, b rule) bool { return a.key() == b.key() && a.Description == b.Description }

// compare returns the rules that are missing, and the rules that are not wanted.
func compare(in external.Input[object], r *kit.Resource) (add, remove []rule) {
	var have struct {
		Rules []rule `json:"security_group_rules"`
	}
	if err := r.Decode(&have); err != nil {
		return nil, nil
	}
	return kit.Difference(have.Rules, wantedRules(in, r.String("id")), same)
}

// sameButWords returns the rules to remove that have the key of a rule to add, and another
// description. They must be removed first.
func sameButWords(add, remove []rule) []rule {
	var first []rule
	for i := range remove {
		if slices.ContainsFunc(add, func(a rule) bool { return a.key() == remove[i].key() }) {
			first = append(first, remove[i])
		}
	}
	return first
}

// wantedRules returns the rules of the spec, without duplicates.
func wantedRules(in external.Input[object], group string) []rule {
	var all []rule
	for _, s := range in.Object.Spec.Resource.Rules {
		r := wanted(in, &s, group)
		if !slices.ContainsFunc(all, func(other rule) bool { return other.key() == r.key() }) {
			all = append(all, r)
		}
	}
	return all
}

func wanted(in external.Input[object], s *openstackv1alpha1.SecurityGroupRule, group string) rule {
	r := rule{
		Group: group, Direction: string(ptr.Deref(s.Direction, "ingress")), Ethertype: string(s.Ethertype),
		Protocol: (*string)(s.Protocol), Prefix: (*string)(s.RemoteIPPrefix),
		Description: string(ptr.Deref(s.Description, "")),
	}
	if p := s.PortRange; p != nil {
		r.Min, r.Max = (*int32)(&p.Min), (*int32)(&p.Max)
	}
	if s.RemoteGroupRef != nil {
		r.RemoteGroup = kit.ID(in, kind, s.RemoteGroupRef)
		if string(*s.RemoteGroupRef) == in.Object.Name {
			r.RemoteGroup = &group
		}
	}
	return r
}

// names are the fields with another name in OpenStack. A range of ports is two fields of a rule.
var names = map[string]string{
	"rules":               "security_group_rules",
	"rules.portRange":     "",
	"rules.portRange.min": "port_range_min",
	"rules.portRange.max": "port_range_max",
}

// amend leaves out ranges that Neutron does not have. A rule for an ICMP type may have no code; the status shows 0.
func amend(g object, _ *kit.Resource) {
	rules := g.Status.Resource.Rules
	for i := range rules {
		if p := rules[i].PortRange; p != nil && p.Min == 0 && p.Max == 0 {
			rules[i].PortRange = nil
		}
	}
}
