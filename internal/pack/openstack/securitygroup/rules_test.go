package securitygroup

import "testing"

func TestRuleKey(t *testing.T) {
	ports := func(low, high int32) rule {
		return rule{Ethertype: "IPv4", Protocol: new("tcp"), Min: &low, Max: &high}
	}
	prefix := func(version, text string) rule { return rule{Ethertype: version, Prefix: &text} }
	protocol := func(version, text string) rule { return rule{Ethertype: version, Protocol: &text} }
	for reason, c := range map[string]struct {
		a, b rule
		same bool
	}{
		"no prefix is everything":               {rule{Ethertype: "IPv4"}, prefix("IPv4", "0.0.0.0/0"), true},
		"also of IPv6":                          {rule{Ethertype: "IPv6"}, prefix("IPv6", "0::0/0"), true},
		"host bits don't count":                 {prefix("IPv4", "10.1.2.3/8"), prefix("IPv4", "10.0.0.0/8"), true},
		"Neutron compresses":                    {prefix("IPv6", "FD00:0::/8"), prefix("IPv6", "fd00::/8"), true},
		"another length is another prefix":      {prefix("IPv4", "10.0.0.0/8"), prefix("IPv4", "10.0.0.0/9"), false},
		"a prefix is less than everything":      {prefix("IPv4", "10.0.0.0/8"), rule{Ethertype: "IPv4"}, false},
		"Neutron drops a range of all ports":    {ports(1, 65535), protocol("IPv4", "tcp"), true},
		"a range of most ports stays":           {ports(2, 65535), protocol("IPv4", "tcp"), false},
		"ICMP of IPv6 has three names":          {protocol("IPv6", "icmp"), protocol("IPv6", "ipv6-icmp"), true},
		"and two numbers":                       {protocol("IPv6", "icmpv6"), protocol("IPv6", "1"), true},
		"ICMP of IPv4 is another":               {protocol("IPv4", "icmp"), protocol("IPv4", "58"), false},
		"a protocol may be there by its number": {protocol("IPv4", "tcp"), protocol("IPv4", "6"), true},
		"an address group is less than all": {
			rule{Ethertype: "IPv4"}, rule{Ethertype: "IPv4", AddressGroup: new("id")}, false,
		},
		"words don't count": {rule{Ethertype: "IPv4", Description: "a"}, rule{Ethertype: "IPv4", Description: "b"}, true},
	} {
		if same := c.a.key() == c.b.key(); same != c.same {
			t.Errorf("%s: same %t, want %t", reason, same, c.same)
		}
	}
}
