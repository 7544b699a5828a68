package contract_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsecurity"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

func TestSubnet(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		network := makeNetwork(t, c, "subnet")
		made := makeSubnet(t, c, network.ID, "10.2.0.0/24")
		pools := []subnets.AllocationPool{{Start: "10.2.0.2", End: "10.2.0.254"}}
		if made.GatewayIP != "10.2.0.1" || !made.EnableDHCP ||
			!cmp.Equal(pools, made.AllocationPools) {
			t.Errorf("a minimal subnet: %+v", made)
		}
		read := must[*networks.Network](t)(networks.Get(ctx, c, network.ID).Extract())
		if !cmp.Equal([]string{made.ID}, read.Subnets) {
			t.Errorf("the network has the subnets %v", read.Subnets)
		}
		changed := must[*subnets.Subnet](t)(subnets.Update(ctx, c, made.ID, subnets.UpdateOpts{
			Name: new("new"), Description: new("new"), GatewayIP: new(""), EnableDHCP: new(false),
			DNSNameservers:  &[]string{"10.2.0.53"},
			HostRoutes:      &[]subnets.HostRoute{{DestinationCIDR: "10.9.0.0/24", NextHop: "10.2.0.9"}},
			AllocationPools: []subnets.AllocationPool{{Start: "10.2.0.10", End: "10.2.0.20"}},
		}).Extract())
		if changed.GatewayIP != "" || changed.EnableDHCP || len(changed.DNSNameservers) != 1 || len(changed.HostRoutes) != 1 ||
			changed.AllocationPools[0].End != "10.2.0.20" || changed.Name != "new" {
			t.Errorf("after the update: %+v", changed)
		}
		back := must[*subnets.Subnet](t)(subnets.Update(ctx, c, made.ID, subnets.UpdateOpts{
			Name: &made.Name, Description: new(""), GatewayIP: &made.GatewayIP, EnableDHCP: new(true),
			DNSNameservers: &[]string{}, HostRoutes: &[]subnets.HostRoute{}, AllocationPools: pools,
		}).Extract())
		back.UpdatedAt, back.RevisionNumber = made.UpdatedAt, made.RevisionNumber
		if diff := cmp.Diff(made, back); diff != "" {
			t.Errorf("not back where it was (-want +got):\n%s", diff)
		}
		pages, err := subnets.List(c, subnets.ListOpts{
			NetworkID: network.ID, CIDR: "10.2.0.0/24", GatewayIP: "10.2.0.1", IPVersion: 4,
		}).AllPages(ctx)
		if found := must[[]subnets.Subnet](t)(must2(subnets.ExtractSubnets(pages))(err)); len(found) != 1 {
			t.Errorf("found %d by its attributes", len(found))
		}
		if err := subnets.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = subnets.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "SubnetNotFound", openstack.NotFound)
	})
}

func TestSubnetV6(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		network := makeNetwork(t, c, "subnet6")
		made := must[*subnets.Subnet](t)(subnets.Create(ctx, c, subnets.CreateOpts{
			NetworkID: network.ID, CIDR: "fd00:2::1/64", IPVersion: gophercloud.IPv6,
			IPv6AddressMode: "dhcpv6-stateful", IPv6RAMode: "dhcpv6-stateful",
		}).Extract())
		if made.GatewayIP != "fd00:2::" || made.IPv6AddressMode != "dhcpv6-stateful" ||
			made.AllocationPools[0].Start != "fd00:2::1" || made.AllocationPools[0].End != "fd00:2::ffff:ffff:ffff:ffff" {
			t.Errorf("a v6 subnet: %+v", made)
		}
	})
}

// TestAddressesV6: in a subnet whose routers announce a prefix, ports get their self-generated
// address, requested or not, and lose it with the subnet.
func TestAddressesV6(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		network := makeNetwork(t, c, "addresses6")
		makeSubnet6 := func(cidr, mode string) *subnets.Subnet {
			return must[*subnets.Subnet](t)(subnets.Create(ctx, c, subnets.CreateOpts{
				NetworkID: network.ID, CIDR: cidr, IPVersion: gophercloud.IPv6, IPv6AddressMode: mode, IPv6RAMode: mode,
			}).Extract())
		}
		has := func(what, port string, want ...string) {
			t.Helper()
			var got []string
			for _, fixed := range must[*ports.Port](t)(ports.Get(ctx, c, port).Extract()).FixedIPs {
				got = append(got, fixed.IPAddress)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		v4 := makeSubnet(t, c, network.ID, "10.10.0.0/30")
		early := makePort(t, c, ports.CreateOpts{NetworkID: network.ID, MACAddress: "fa:16:3e:00:06:01"}) // 10.10.0.2
		slaac := makeSubnet6("fd00:6::/64", "slaac")
		has("a port that was there before", early.ID, "10.10.0.2", "fd00:6::f816:3eff:fe00:601")
		none := makePort(t, c, ports.CreateOpts{
			NetworkID: network.ID, MACAddress: "fa:16:3e:00:06:02", FixedIPs: []ports.IP{},
		})
		has("a port that asks for none", none.ID, "fd00:6::f816:3eff:fe00:602")
		asks := makePort(t, c, ports.CreateOpts{
			NetworkID: network.ID, MACAddress: "fa:16:3e:00:06:03", FixedIPs: []ports.IP{{SubnetID: slaac.ID}},
		})
		has("a port that asks for it", asks.ID, "fd00:6::f816:3eff:fe00:603")
		must[*ports.Port](t)(ports.Update(ctx, c, early.ID, ports.UpdateOpts{FixedIPs: []ports.IP{}}).Extract())
		has("a port that gives all away", early.ID, "fd00:6::f816:3eff:fe00:601")
		for address, kind := range map[string]string{
			"fd00:6::9": "AllocationOnAutoAddressSubnet", "10.10.0.0": "InvalidIpForSubnet", "10.10.0.3": "InvalidIpForSubnet",
		} {
			subnet := map[bool]string{true: v4.ID, false: slaac.ID}[strings.Contains(address, ".")]
			_, err := ports.Create(ctx, c, ports.CreateOpts{
				NetworkID: network.ID, FixedIPs: []ports.IP{{SubnetID: subnet, IPAddress: address}},
			}).Extract()
			refused(t, err, http.StatusBadRequest, kind, openstack.Invalid)
		}
		router := makeRouter(t, c, nil)
		made := attach(t, c, router.ID, slaac.ID)
		has("the router's port", made.PortID, "fd00:6::")
		refused(t, subnets.Delete(ctx, c, slaac.ID).ExtractErr(), http.StatusConflict, "SubnetInUse", openstack.Busy)
		must[*routers.InterfaceInfo](t)(routers.RemoveInterface(ctx, c, router.ID,
			routers.RemoveInterfaceOpts{SubnetID: slaac.ID}).Extract())
		if err := subnets.Delete(ctx, c, slaac.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		has("a port without the subnet", asks.ID)
		stateful := makeSubnet6("fd00:7::/64", "dhcpv6-stateful")
		chosen := makePort(t, c, ports.CreateOpts{
			NetworkID: network.ID, FixedIPs: []ports.IP{{SubnetID: stateful.ID, IPAddress: "fd00:7::"}},
		})
		has("an address of one's choice", chosen.ID, "fd00:7::")
	})
}

func TestSubnetRefused(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		network := makeNetwork(t, c, "refused")
		makeSubnet(t, c, network.ID, "10.3.0.0/24")
		pool := func(start, end string) []subnets.AllocationPool {
			return []subnets.AllocationPool{{Start: start, End: end}}
		}
		for _, tt := range []struct {
			reason string
			opts   subnets.CreateOpts
			status int
			kind   string
			class  openstack.Class
		}{
			{"overlap", subnets.CreateOpts{CIDR: "10.3.0.0/16"}, 400, "InvalidInput", openstack.Busy},
			{"not a prefix", subnets.CreateOpts{CIDR: "10.4.0.0/33"}, 400, "InvalidInput", openstack.Invalid},
			{"wrong version", subnets.CreateOpts{CIDR: "fd00::/64"}, 400, "InvalidInput", openstack.Invalid},
			{
				"pool outside",
				subnets.CreateOpts{CIDR: "10.4.0.0/24", AllocationPools: pool("10.5.0.2", "10.5.0.9")},
				400, "OutOfBoundsAllocationPool", openstack.Invalid,
			},
			{
				"pool backwards",
				subnets.CreateOpts{CIDR: "10.4.0.0/24", AllocationPools: pool("10.4.0.9", "10.4.0.2")},
				400, "InvalidAllocationPool", openstack.Invalid,
			},
			{
				"pools overlap", subnets.CreateOpts{
					CIDR:            "10.4.0.0/24",
					AllocationPools: append(pool("10.4.0.2", "10.4.0.9"), pool("10.4.0.5", "10.4.0.19")...),
				}, 409, "OverlappingAllocationPools", openstack.Busy,
			},
			{
				"gateway in a pool", subnets.CreateOpts{
					CIDR: "10.4.0.0/24", GatewayIP: new("10.4.0.5"), AllocationPools: pool("10.4.0.2", "10.4.0.9"),
				}, 409, "GatewayConflictWithAllocationPools", openstack.Busy,
			},
			{
				"gateway is no address",
				subnets.CreateOpts{CIDR: "10.4.0.0/24", GatewayIP: new("x")},
				400, "HTTPBadRequest", openstack.Invalid,
			},
			{
				"modes of v6",
				subnets.CreateOpts{CIDR: "10.4.0.0/24", IPv6RAMode: "slaac"},
				400, "InvalidInput", openstack.Invalid,
			},
			{
				"unknown network",
				subnets.CreateOpts{NetworkID: noSuch, CIDR: "10.4.0.0/24"},
				404, "NetworkNotFound", openstack.NotFound,
			},
		} {
			t.Run(tt.reason, func(t *testing.T) {
				if tt.opts.NetworkID == "" {
					tt.opts.NetworkID = network.ID
				}
				tt.opts.IPVersion = gophercloud.IPv4
				_, err := subnets.Create(ctx, c, tt.opts).Extract()
				refused(t, err, tt.status, tt.kind, tt.class)
			})
		}
	})
}

func TestPort(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		network := makeNetwork(t, c, "port")
		subnet := makeSubnet(t, c, network.ID, "10.4.0.0/24")
		made := makePort(t, c, ports.CreateOpts{NetworkID: network.ID, Name: unique("port")})
		if made.Status != "DOWN" || len(made.FixedIPs) != 1 || made.FixedIPs[0].SubnetID != subnet.ID ||
			made.MACAddress == "" || len(made.SecurityGroups) != 1 || made.DeviceID != "" {
			t.Errorf("a minimal port: %+v", made)
		}
		changed := must[*ports.Port](t)(ports.Update(ctx, c, made.ID, ports.UpdateOpts{
			Name: new("new"), Description: new("new"), AdminStateUp: new(false), SecurityGroups: &[]string{},
			AllowedAddressPairs: &[]ports.AddressPair{{IPAddress: "10.4.0.99"}},
		}).Extract())
		// Without a MAC address, a pair gets the port's.
		pair := []ports.AddressPair{{IPAddress: "10.4.0.99", MACAddress: made.MACAddress}}
		if changed.Name != "new" || changed.AdminStateUp || len(changed.SecurityGroups) != 0 ||
			!cmp.Equal(pair, changed.AllowedAddressPairs) {
			t.Errorf("after the update: %+v", changed)
		}
		back := must[*ports.Port](t)(ports.Update(ctx, c, made.ID, ports.UpdateOpts{
			Name: &made.Name, Description: new(""), AdminStateUp: new(true), SecurityGroups: &made.SecurityGroups,
			AllowedAddressPairs: &[]ports.AddressPair{},
		}).Extract())
		back.UpdatedAt, back.RevisionNumber = made.UpdatedAt, made.RevisionNumber
		if diff := cmp.Diff(made, back); diff != "" {
			t.Errorf("not back where it was (-want +got):\n%s", diff)
		}
		for reason, opts := range map[string]ports.ListOpts{
			"network": {NetworkID: network.ID}, "name": {Name: made.Name}, "MAC": {MACAddress: made.MACAddress},
			"address": {FixedIPs: []ports.FixedIPOpts{{IPAddress: made.FixedIPs[0].IPAddress}}, NetworkID: network.ID},
			"subnet":  {FixedIPs: []ports.FixedIPOpts{{SubnetID: subnet.ID}}}, "ID": {ID: made.ID},
		} {
			pages, err := ports.List(c, opts).AllPages(ctx)
			if found := must[[]ports.Port](t)(must2(ports.ExtractPorts(pages))(err)); len(found) != 1 {
				t.Errorf("found %d by %s", len(found), reason)
			}
		}
		if err := ports.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err := ports.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "PortNotFound", openstack.NotFound)
	})
}

func TestPortWithTags(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		network := makeNetwork(t, c, "tagged")
		var body struct {
			Port struct {
				ID   string   `json:"id"`
				Tags []string `json:"tags"`
			} `json:"port"`
		}
		ask := map[string]any{"port": map[string]any{"network_id": network.ID, "tags": []string{"kinship-uid=1"}}}
		if err := send(ctx, c, http.MethodPost, c.ServiceURL("ports"), ask, &body); err != nil {
			t.Fatal(err)
		}
		later(t, "port", func(ctx context.Context) error { return ports.Delete(ctx, c, body.Port.ID).ExtractErr() })
		pages, err := ports.List(c, ports.ListOpts{Tags: "kinship-uid=1", NetworkID: network.ID}).AllPages(ctx)
		found := must[[]ports.Port](t)(must2(ports.ExtractPorts(pages))(err))
		if w.has("tag-ports-during-bulk-creation") && len(found) != 1 {
			t.Errorf("found %d by the tag given at creation, the port has %v", len(found), body.Port.Tags)
		}
		// Other kinds take tags in a second call only.
		ask = map[string]any{"network": map[string]any{"tags": []string{"a"}}}
		err = send(ctx, c, http.MethodPost, c.ServiceURL("networks"), ask, nil)
		refused(t, err, http.StatusBadRequest, "HTTPBadRequest", openstack.Invalid)
	})
}

func TestPortAddresses(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		network, other := makeNetwork(t, c, "addresses"), makeNetwork(t, c, "other")
		small, foreign := makeSubnet(t, c, network.ID, "10.5.0.0/30"), makeSubnet(t, c, other.ID, "10.6.0.0/24")
		makePort(t, c, ports.CreateOpts{NetworkID: network.ID, MACAddress: "fa:16:3e:00:00:01"}) // 10.5.0.2 only
		if none := makePort(t, c, ports.CreateOpts{NetworkID: network.ID, FixedIPs: []ports.IP{}}); len(none.FixedIPs) != 0 {
			t.Errorf("with an empty list of addresses: %v", none.FixedIPs)
		}
		ip := func(subnet, address string) []ports.IP { return []ports.IP{{SubnetID: subnet, IPAddress: address}} }
		for _, tt := range []struct {
			reason string
			opts   ports.CreateOpts
			status int
			kind   string
			class  openstack.Class
		}{
			{"exhausted", ports.CreateOpts{}, 409, "IpAddressGenerationFailure", openstack.Busy},
			{"taken", ports.CreateOpts{FixedIPs: ip(small.ID, "10.5.0.2")}, 409, "IpAddressAlreadyAllocated", openstack.Busy},
			{"not in the subnet", ports.CreateOpts{FixedIPs: ip(small.ID, "10.9.0.2")}, 400, "InvalidIpForSubnet", openstack.Invalid},
			{"in no subnet", ports.CreateOpts{FixedIPs: ip("", "10.9.0.2")}, 400, "InvalidIpForNetwork", openstack.Invalid},
			{"not an address", ports.CreateOpts{FixedIPs: ip(small.ID, "x")}, 400, "HTTPBadRequest", openstack.Invalid},
			{"subnet of another network", ports.CreateOpts{FixedIPs: ip(foreign.ID, "")}, 400, "InvalidInput", openstack.Invalid},
			{"unknown subnet", ports.CreateOpts{FixedIPs: ip(noSuch, "")}, 404, "SubnetNotFound", openstack.NotFound},
			{"unknown network", ports.CreateOpts{NetworkID: noSuch}, 404, "NetworkNotFound", openstack.NotFound},
			{
				"unknown group",
				ports.CreateOpts{SecurityGroups: &[]string{noSuch}, FixedIPs: []ports.IP{}},
				404, "SecurityGroupNotFound", openstack.NotFound,
			},
			{
				"MAC in use",
				ports.CreateOpts{MACAddress: "fa:16:3e:00:00:01", FixedIPs: []ports.IP{}},
				409, "MacAddressInUse", openstack.Busy,
			},
			{"not a MAC", ports.CreateOpts{MACAddress: "x", FixedIPs: []ports.IP{}}, 400, "HTTPBadRequest", openstack.Invalid},
		} {
			t.Run(tt.reason, func(t *testing.T) {
				if tt.opts.NetworkID == "" {
					tt.opts.NetworkID = network.ID
				}
				_, err := ports.Create(ctx, c, tt.opts).Extract()
				refused(t, err, tt.status, tt.kind, tt.class)
			})
		}
	})
}

func TestPortSecurity(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		network := makeNetwork(t, c, "security")
		group := makeGroup(t, c)
		off := func(opts ports.CreateOpts) portsecurity.PortCreateOptsExt {
			opts.NetworkID = network.ID
			return portsecurity.PortCreateOptsExt{CreateOptsBuilder: opts, PortSecurityEnabled: new(false)}
		}
		_, err := ports.Create(ctx, c, off(ports.CreateOpts{SecurityGroups: &[]string{group.ID}})).Extract()
		refused(t, err, http.StatusBadRequest, "PortSecurityAndIPRequiredForSecurityGroups", openstack.Invalid)
		_, err = ports.Create(ctx, c, off(ports.CreateOpts{
			AllowedAddressPairs: []ports.AddressPair{{IPAddress: "10.0.0.9"}},
		})).Extract()
		refused(t, err, http.StatusConflict, "AddressPairAndPortSecurityRequired", openstack.Busy)
		made := must[*ports.Port](t)(ports.Create(ctx, c, off(ports.CreateOpts{})).Extract())
		later(t, "port", func(ctx context.Context) error { return ports.Delete(ctx, c, made.ID).ExtractErr() })
		if len(made.SecurityGroups) != 0 {
			t.Errorf("a port without security has the groups %v", made.SecurityGroups)
		}
	})
}
