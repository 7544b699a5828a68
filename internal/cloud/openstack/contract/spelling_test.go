package contract_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// TestSubnetSpelling tells which addresses Neutron spells in its own way.
func TestSubnetSpelling(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		c := client(t, w.member.Network)
		var made map[string]map[string]any
		err := send(t.Context(), c, http.MethodPost, c.ServiceURL("subnets"), map[string]any{"subnet": map[string]any{
			"network_id": makeNetwork(t, c, "spelling").ID, "ip_version": 6, "cidr": "FD00:0:0:3::9/64", "gateway_ip": "FD00:0:0:3::A",
			"allocation_pools": []any{map[string]any{"start": "FD00:0:0:3::B", "end": "fd00::3:0:0:0:000C"}},
			"dns_nameservers":  []any{"FD00:0::53"},
			"host_routes":      []any{map[string]any{"destination": "FD00:0:0:4::/64", "nexthop": "FD00:0:0:3::F"}},
		}}, &made)
		if err != nil {
			t.Fatal(err)
		}
		got := made["subnet"]
		maps.DeleteFunc(got, func(field string, _ any) bool {
			return field != "cidr" && field != "gateway_ip" && field != "allocation_pools" && field != "dns_nameservers" && field != "host_routes"
		})
		want := map[string]any{
			"cidr": "fd00:0:0:3::/64", "gateway_ip": "fd00:0:0:3::a",
			"allocation_pools": []any{map[string]any{"start": "fd00:0:0:3::b", "end": "fd00:0:0:3::c"}},
			"dns_nameservers":  []any{"FD00:0::53"}, // A single address keeps its spelling.
			"host_routes":      []any{map[string]any{"destination": "FD00:0:0:4::/64", "nexthop": "fd00:0:0:3::f"}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("as it is read (-want +got):\n%s", diff)
		}
	})
}

// TestPortSpelling: the MAC address of a port and of its pairs keep their spelling. Pairs are
// ordered by MAC address.
func TestPortSpelling(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		made := makePort(t, c, ports.CreateOpts{
			NetworkID: makeNetwork(t, c, "spelling").ID, MACAddress: "FA:16:3E:00:00:AB",
			AllowedAddressPairs: []ports.AddressPair{
				{IPAddress: "FD00:0::A"},
				{IPAddress: "10.0.0.9", MACAddress: "FA:16:3E:00:00:0A"},
				{IPAddress: "10.0.0.9", MACAddress: "fa-16-3e-00-00-0b"},
			},
		})
		want := []ports.AddressPair{
			{IPAddress: "10.0.0.9", MACAddress: "fa-16-3e-00-00-0b"},
			{IPAddress: "10.0.0.9", MACAddress: "FA:16:3E:00:00:0A"},
			{IPAddress: "FD00:0::A", MACAddress: "FA:16:3E:00:00:AB"},
		}
		for _, got := range []*ports.Port{made, must[*ports.Port](t)(ports.Get(ctx, c, made.ID).Extract())} {
			if got.MACAddress != "FA:16:3E:00:00:AB" {
				t.Errorf("MAC address %s", got.MACAddress)
			}
			if diff := cmp.Diff(want, got.AllowedAddressPairs); diff != "" {
				t.Errorf("pairs (-want +got):\n%s", diff)
			}
		}
		_, err := ports.Create(ctx, c, ports.CreateOpts{NetworkID: made.NetworkID, MACAddress: "fa:16:3e:00:00:ab"}).Extract()
		refused(t, err, http.StatusConflict, "MacAddressInUse", openstack.Busy)
	})
}

// TestRuleSpelling: Neutron compares two rules by its own spelling, in which two prefixes with
// other host bits are different.
func TestRuleSpelling(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		c := client(t, w.member.Network)
		group := makeGroup(t, c)
		add := func(rule map[string]any) (map[string]any, error) {
			body := map[string]any{"security_group_id": group.ID, "direction": "ingress", "ethertype": "IPv4"}
			maps.Copy(body, rule)
			var made map[string]map[string]any
			err := send(t.Context(), c, http.MethodPost, c.ServiceURL("security-group-rules"),
				map[string]any{"security_group_rule": body}, &made)
			return made["security_group_rule"], err
		}
		for _, tt := range []struct {
			reason      string
			rule, shows map[string]any
		}{
			{"everything", map[string]any{"remote_ip_prefix": "0.0.0.0/0"}, map[string]any{"remote_ip_prefix": "0.0.0.0/0", "normalized_cidr": "0.0.0.0/0"}},
			{"host bits", map[string]any{"remote_ip_prefix": "10.1.2.3/8"}, map[string]any{"remote_ip_prefix": "10.1.2.3/8", "normalized_cidr": "10.0.0.0/8"}},
			{"no host bits", map[string]any{"remote_ip_prefix": "10.0.0.0/8"}, map[string]any{"remote_ip_prefix": "10.0.0.0/8"}},
			{"an address", map[string]any{"remote_ip_prefix": "10.0.0.1"}, map[string]any{"remote_ip_prefix": "10.0.0.1/32"}},
			{
				"not compressed",
				map[string]any{"ethertype": "IPv6", "remote_ip_prefix": "FD00:0::/8"},
				map[string]any{"remote_ip_prefix": "fd00::/8"},
			},
			{
				"all ports",
				map[string]any{"protocol": "tcp", "port_range_min": 1, "port_range_max": 65535},
				map[string]any{"port_range_min": nil, "port_range_max": nil},
			},
			{"old name", map[string]any{"ethertype": "IPv6", "protocol": "icmp"}, map[string]any{"protocol": "ipv6-icmp"}},
			{"old name of a number", map[string]any{"ethertype": "IPv6", "protocol": 1, "port_range_min": 1}, map[string]any{"protocol": "58"}},
		} {
			made, err := add(tt.rule)
			if err != nil {
				t.Errorf("%s: %v", tt.reason, err)
				continue
			}
			for field, want := range tt.shows {
				if made[field] != want {
					t.Errorf("%s: %s is %v, want %v", tt.reason, field, made[field], want)
				}
			}
		}
		for reason, rule := range map[string]map[string]any{
			"nothing is everything":    {"remote_ip_prefix": nil},
			"none is all ports":        {"protocol": "tcp"},
			"compressed":               {"ethertype": "IPv6", "remote_ip_prefix": "fd00::/8"},
			"the length of an address": {"remote_ip_prefix": "10.0.0.1/32"},
			"new name":                 {"ethertype": "IPv6", "protocol": "icmpv6"},
			"egress":                   {"direction": "egress", "ethertype": "IPv6", "remote_ip_prefix": "::/0"},
		} {
			if _, err := add(rule); err == nil {
				t.Errorf("%s: not refused", reason)
			} else {
				refused(t, err, http.StatusConflict, "SecurityGroupRuleExists", openstack.Exists)
			}
		}
		_, err := add(map[string]any{"protocol": "tcp", "port_range_min": 0, "port_range_max": 1})
		refused(t, err, http.StatusBadRequest, "SecurityGroupInvalidPortValue", openstack.Invalid)
	})
}
