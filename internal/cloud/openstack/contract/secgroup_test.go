package contract_test

import (
	"context"
	"maps"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

func makeGroup(t *testing.T, c *gophercloud.ServiceClient) *groups.SecGroup {
	t.Helper()
	made := must[*groups.SecGroup](t)(groups.Create(t.Context(), c, groups.CreateOpts{Name: unique("group")}).Extract())
	later(t, "security group", func(ctx context.Context) error { return groups.Delete(ctx, c, made.ID).ExtractErr() })
	return made
}

func TestSecurityGroup(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		made := makeGroup(t, c)
		if len(made.Rules) != 2 || !made.Stateful || made.ProjectID != w.member.ProjectID {
			t.Errorf("a minimal group: %+v", made)
		}
		for _, rule := range made.Rules {
			if rule.Direction != "egress" || rule.RemoteIPPrefix != "" || rule.Protocol != "" {
				t.Errorf("a default rule: %+v", rule)
			}
		}
		changed := must[*groups.SecGroup](t)(groups.Update(ctx, c, made.ID, groups.UpdateOpts{
			Name: "new", Description: new("new"),
		}).Extract())
		if changed.Name != "new" || changed.Description != "new" {
			t.Errorf("after the update: %+v", changed)
		}
		_, err := groups.Create(ctx, c, groups.CreateOpts{Name: "default"}).Extract()
		refused(t, err, http.StatusConflict, "SecurityGroupDefaultAlreadyExists", openstack.Exists)
		network := makeNetwork(t, c, "group")
		port := makePort(t, c, ports.CreateOpts{NetworkID: network.ID, SecurityGroups: &[]string{made.ID}})
		refused(t, groups.Delete(ctx, c, made.ID).ExtractErr(), http.StatusConflict, "SecurityGroupInUse", openstack.Busy)
		if err := ports.Delete(ctx, c, port.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		if err := groups.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = groups.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "SecurityGroupNotFound", openstack.NotFound)
	})
}

func TestDefaultSecurityGroup(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		c := client(t, w.member.Network)
		makeNetwork(t, c, "default")
		pages, err := groups.List(c, groups.ListOpts{Name: "default", ProjectID: w.member.ProjectID}).AllPages(t.Context())
		found := must[[]groups.SecGroup](t)(must2(groups.ExtractGroups(pages))(err))
		if len(found) != 1 || len(found[0].Rules) != 4 {
			t.Fatalf("default groups: %+v", found)
		}
		// While another test has ports, the security group counts as in use, so the kind
		// varies.
		refused(t, groups.Delete(t.Context(), c, found[0].ID).ExtractErr(), http.StatusConflict, "", openstack.Busy)
	})
}

func TestSecurityGroupRule(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		group := makeGroup(t, c)
		ssh := rules.CreateOpts{
			SecGroupID: group.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP,
			PortRangeMin: 22, PortRangeMax: 22, RemoteIPPrefix: "10.0.0.0/8", Description: "ssh",
		}
		made := must[*rules.SecGroupRule](t)(rules.Create(ctx, c, ssh).Extract())
		if made.Protocol != "tcp" || made.PortRangeMin != 22 || made.RemoteIPPrefix != "10.0.0.0/8" || made.SecGroupID != group.ID {
			t.Errorf("a rule: %+v", made)
		}
		remote := must[*rules.SecGroupRule](t)(rules.Create(ctx, c, rules.CreateOpts{
			SecGroupID: group.ID, Direction: rules.DirIngress, EtherType: rules.EtherType6, RemoteGroupID: group.ID,
		}).Extract())
		if remote.RemoteGroupID != group.ID {
			t.Errorf("a rule for a group: %+v", remote)
		}
		ssh.Description = "another description is still the same rule"
		_, err := rules.Create(ctx, c, ssh).Extract()
		refused(t, err, http.StatusConflict, "SecurityGroupRuleExists", openstack.Exists)
		read := must[*groups.SecGroup](t)(groups.Get(ctx, c, group.ID).Extract())
		if len(read.Rules) != 4 {
			t.Errorf("the group has %d rules", len(read.Rules))
		}
		if err := rules.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		refused(t, rules.Delete(ctx, c, made.ID).ExtractErr(), http.StatusNotFound, "SecurityGroupRuleNotFound", openstack.NotFound)
	})
}

func TestSecurityGroupRuleRefused(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		c := client(t, w.member.Network)
		group := makeGroup(t, c)
		for _, tt := range []struct {
			reason string
			rule   map[string]any
			status int
			kind   string
		}{
			{"ports without protocol", map[string]any{"port_range_min": 1, "port_range_max": 2}, 400, "SecurityGroupProtocolRequiredWithPorts"},
			{
				"range backwards",
				map[string]any{"protocol": "tcp", "port_range_min": 2, "port_range_max": 1},
				400, "SecurityGroupInvalidPortRange",
			},
			{"ICMP type", map[string]any{"protocol": "icmp", "port_range_min": 256}, 400, "SecurityGroupInvalidIcmpValue"},
			{"ICMP code alone", map[string]any{"protocol": "icmp", "port_range_max": 1}, 400, "SecurityGroupMissingIcmpType"},
			{"ports of a protocol without", map[string]any{"protocol": "gre", "port_range_min": 1, "port_range_max": 1}, 400, "SecurityGroupInvalidProtocolForPort"},
			{"protocol", map[string]any{"protocol": "bogus"}, 400, "SecurityGroupRuleInvalidProtocol"},
			{"protocol of the other version", map[string]any{"protocol": "icmpv6"}, 400, "SecurityGroupEthertypeConflictWithProtocol"},
			{"prefix of the other version", map[string]any{"remote_ip_prefix": "fd00::/8"}, 400, "SecurityGroupRuleParameterConflict"},
			{"not a prefix", map[string]any{"remote_ip_prefix": "x"}, 400, "InvalidCIDR"},
			{
				"prefix and group",
				map[string]any{"remote_ip_prefix": "10.0.0.0/8", "remote_group_id": group.ID},
				400, "SecurityGroupMultipleRemoteEntites",
			},
			{"direction", map[string]any{"direction": "up"}, 400, "HTTPBadRequest"},
			{"unknown remote group", map[string]any{"remote_group_id": noSuch}, 404, "SecurityGroupNotFound"},
			{"unknown group", map[string]any{"security_group_id": noSuch}, 404, "SecurityGroupNotFound"},
			{"everything, a second time", map[string]any{"direction": "egress", "remote_ip_prefix": "0.0.0.0/0"}, 409, "SecurityGroupRuleExists"},
		} {
			t.Run(tt.reason, func(t *testing.T) {
				rule := map[string]any{"security_group_id": group.ID, "direction": "ingress", "ethertype": "IPv4"}
				maps.Copy(rule, tt.rule)
				err := send(t.Context(), c, http.MethodPost, c.ServiceURL("security-group-rules"),
					map[string]any{"security_group_rule": rule}, nil)
				class := map[int]openstack.Class{400: openstack.Invalid, 404: openstack.NotFound, 409: openstack.Exists}[tt.status]
				refused(t, err, tt.status, tt.kind, class)
			})
		}
	})
}
