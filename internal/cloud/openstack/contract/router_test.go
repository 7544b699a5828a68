package contract_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

func makeRouter(t *testing.T, c *gophercloud.ServiceClient, gateway *routers.GatewayInfo) *routers.Router {
	t.Helper()
	made := must[*routers.Router](t)(routers.Create(t.Context(), c, routers.CreateOpts{
		Name: unique("router"), GatewayInfo: gateway,
	}).Extract())
	later(t, "router", func(ctx context.Context) error { return routers.Delete(ctx, c, made.ID).ExtractErr() })
	return made
}

func attach(t *testing.T, c *gophercloud.ServiceClient, router, subnet string) *routers.InterfaceInfo {
	t.Helper()
	made := must[*routers.InterfaceInfo](t)(routers.AddInterface(t.Context(), c, router,
		routers.AddInterfaceOpts{SubnetID: subnet}).Extract())
	later(t, "router interface", func(ctx context.Context) error {
		_, err := routers.RemoveInterface(ctx, c, router, routers.RemoveInterfaceOpts{SubnetID: subnet}).Extract()
		return err
	})
	return made
}

// public is the external network that every cloud of ours has.
func public(t *testing.T, c *gophercloud.ServiceClient) string {
	t.Helper()
	pages, err := networks.List(c, networks.ListOpts{Name: "public"}).AllPages(t.Context())
	found := must[[]networks.Network](t)(must2(networks.ExtractNetworks(pages))(err))
	if len(found) != 1 {
		t.Fatalf("%d networks are called public", len(found))
	}
	return found[0].ID
}

func TestRouter(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		made := makeRouter(t, c, nil)
		if made.Status != "ACTIVE" || !made.AdminStateUp || made.GatewayInfo.NetworkID != "" {
			t.Errorf("a minimal router: %+v", made)
		}
		changed := must[*routers.Router](t)(routers.Update(ctx, c, made.ID, routers.UpdateOpts{
			Name: "new", Description: new("new"), AdminStateUp: new(false),
			GatewayInfo: &routers.GatewayInfo{NetworkID: public(t, c)},
		}).Extract())
		if changed.Name != "new" || changed.AdminStateUp || len(changed.GatewayInfo.ExternalFixedIPs) != 1 {
			t.Errorf("after the update: %+v", changed)
		}
		back := must[*routers.Router](t)(routers.Update(ctx, c, made.ID, routers.UpdateOpts{
			Name: made.Name, Description: new(""), AdminStateUp: new(true), GatewayInfo: &routers.GatewayInfo{},
		}).Extract())
		back.UpdatedAt, back.RevisionNumber = made.UpdatedAt, made.RevisionNumber
		if diff := cmp.Diff(made, back); diff != "" {
			t.Errorf("not back where it was (-want +got):\n%s", diff)
		}
		inner := makeNetwork(t, c, "inner")
		_, err := routers.Create(ctx, c, routers.CreateOpts{GatewayInfo: &routers.GatewayInfo{NetworkID: inner.ID}}).Extract()
		refused(t, err, http.StatusBadRequest, "BadRequest", openstack.Busy)
		_, err = routers.Create(ctx, c, routers.CreateOpts{GatewayInfo: &routers.GatewayInfo{NetworkID: noSuch}}).Extract()
		refused(t, err, http.StatusNotFound, "NetworkNotFound", openstack.NotFound)
		if err := routers.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = routers.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "RouterNotFound", openstack.NotFound)
	})
}

func TestRouterInterface(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		router, network := makeRouter(t, c, nil), makeNetwork(t, c, "interface")
		subnet := makeSubnet(t, c, network.ID, "10.7.0.0/24")
		made := attach(t, c, router.ID, subnet.ID)
		port := must[*ports.Port](t)(ports.Get(ctx, c, made.PortID).Extract())
		if port.DeviceOwner != "network:router_interface" || port.DeviceID != router.ID || port.Status != "ACTIVE" ||
			port.FixedIPs[0].IPAddress != "10.7.0.1" {
			t.Errorf("the interface's port: %+v", port)
		}
		pages, err := ports.List(c, ports.ListOpts{DeviceID: router.ID, DeviceOwner: "network:router_interface"}).AllPages(ctx)
		if found := must[[]ports.Port](t)(must2(ports.ExtractPorts(pages))(err)); len(found) != 1 {
			t.Errorf("found %d interfaces", len(found))
		}
		add := func(opts routers.AddInterfaceOpts) error {
			_, err := routers.AddInterface(ctx, c, router.ID, opts).Extract()
			return err
		}
		refused(t, add(routers.AddInterfaceOpts{SubnetID: subnet.ID}), http.StatusBadRequest, "BadRequest", openstack.Invalid)
		refused(t, add(routers.AddInterfaceOpts{SubnetID: noSuch}), http.StatusNotFound, "SubnetNotFound", openstack.NotFound)
		refused(t, routers.Delete(ctx, c, router.ID).ExtractErr(), http.StatusConflict, "RouterInUse", openstack.Busy)
		refused(t, ports.Delete(ctx, c, made.PortID).ExtractErr(), http.StatusConflict, "ServicePortInUse", openstack.Busy)
		refused(t, subnets.Delete(ctx, c, subnet.ID).ExtractErr(), http.StatusConflict, "SubnetInUse", openstack.Busy)
		refused(t, networks.Delete(ctx, c, network.ID).ExtractErr(), http.StatusConflict, "NetworkInUse", openstack.Busy)
		twin := makeNetwork(t, c, "twin")
		overlapping := makeSubnet(t, c, twin.ID, "10.7.0.0/16")
		refused(t, add(routers.AddInterfaceOpts{SubnetID: overlapping.ID}), http.StatusBadRequest, "BadRequest", openstack.Busy)
		closed := must[*subnets.Subnet](t)(subnets.Create(ctx, c, subnets.CreateOpts{
			NetworkID: twin.ID, CIDR: "10.8.0.0/24", IPVersion: 4, GatewayIP: new(""),
		}).Extract())
		refused(t, add(routers.AddInterfaceOpts{SubnetID: closed.ID}), http.StatusBadRequest, "BadRequest", openstack.Busy)
		remove := func(subnet string) error {
			_, err := routers.RemoveInterface(ctx, c, router.ID, routers.RemoveInterfaceOpts{SubnetID: subnet}).Extract()
			return err
		}
		if err := remove(subnet.ID); err != nil {
			t.Fatal(err)
		}
		refused(t, remove(subnet.ID), http.StatusNotFound, "RouterInterfaceNotFoundForSubnet", openstack.NotFound)
		_, err = ports.Get(ctx, c, made.PortID).Extract()
		refused(t, err, http.StatusNotFound, "PortNotFound", openstack.NotFound)
	})
}

func TestFloatingIP(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		outside := public(t, c)
		network := makeNetwork(t, c, "floating")
		subnet := makeSubnet(t, c, network.ID, "10.10.0.0/24")
		// Neutron chooses addresses at random, and might choose the second address of the port.
		port := makePort(t, c, ports.CreateOpts{
			NetworkID: network.ID, FixedIPs: []ports.IP{{SubnetID: subnet.ID, IPAddress: "10.10.0.20"}},
		})
		_, err := floatingips.Create(ctx, c, floatingips.CreateOpts{FloatingNetworkID: outside, PortID: port.ID}).Extract()
		refused(t, err, http.StatusNotFound, "ExternalGatewayForFloatingIPNotFound", openstack.NotFound)
		_, err = floatingips.Create(ctx, c, floatingips.CreateOpts{FloatingNetworkID: network.ID}).Extract()
		refused(t, err, http.StatusBadRequest, "BadRequest", openstack.Busy)
		bare := makePort(t, c, ports.CreateOpts{NetworkID: network.ID, FixedIPs: []ports.IP{}})
		for _, address := range []string{"", "10.10.0.99"} { // The router has no gateway, and not this one.
			_, err = floatingips.Create(ctx, c, floatingips.CreateOpts{
				FloatingNetworkID: outside, PortID: bare.ID, FixedIP: address,
			}).Extract()
			refused(t, err, http.StatusBadRequest, "BadRequest", openstack.Busy)
		}
		_, err = floatingips.Create(ctx, c, floatingips.CreateOpts{FloatingNetworkID: noSuch}).Extract()
		refused(t, err, http.StatusNotFound, "NetworkNotFound", openstack.NotFound)

		router := makeRouter(t, c, &routers.GatewayInfo{NetworkID: outside})
		attach(t, c, router.ID, subnet.ID)
		made := must[*floatingips.FloatingIP](t)(floatingips.Create(ctx, c, floatingips.CreateOpts{
			FloatingNetworkID: outside, PortID: port.ID, Description: "to the port",
		}).Extract())
		later(t, "floating IP", func(ctx context.Context) error { return floatingips.Delete(ctx, c, made.ID).ExtractErr() })
		if made.FixedIP != port.FixedIPs[0].IPAddress || made.RouterID != router.ID || made.FloatingIP == "" {
			t.Errorf("a floating IP: %+v", made)
		}
		soon(t, "the floating IP is ACTIVE", func() (bool, error) {
			read, err := floatingips.Get(ctx, c, made.ID).Extract()
			return err == nil && read.Status == "ACTIVE", err
		})
		_, err = floatingips.Create(ctx, c, floatingips.CreateOpts{FloatingNetworkID: outside, PortID: port.ID}).Extract()
		refused(t, err, http.StatusConflict, "FloatingIPPortAlreadyAssociated", openstack.Busy)
		_, err = routers.RemoveInterface(ctx, c, router.ID, routers.RemoveInterfaceOpts{SubnetID: subnet.ID}).Extract()
		refused(t, err, http.StatusConflict, "RouterInterfaceInUseByFloatingIP", openstack.Busy)
		_, err = routers.Update(ctx, c, router.ID, routers.UpdateOpts{GatewayInfo: &routers.GatewayInfo{}}).Extract()
		refused(t, err, http.StatusConflict, "RouterExternalGatewayInUseByFloatingIp", openstack.Busy)
		must[*ports.Port](t)(ports.Update(ctx, c, port.ID, ports.UpdateOpts{FixedIPs: []ports.IP{
			{SubnetID: subnet.ID, IPAddress: made.FixedIP}, {SubnetID: subnet.ID, IPAddress: "10.10.0.200"},
		}}).Extract())
		_, err = floatingips.Update(ctx, c, made.ID, floatingips.UpdateOpts{Description: new("one of two")}).Extract()
		refused(t, err, http.StatusBadRequest, "BadRequest", openstack.Invalid)
		must[*floatingips.FloatingIP](t)(floatingips.Update(ctx, c, made.ID, floatingips.UpdateOpts{
			Description: new("one of two"), PortID: &made.PortID, FixedIP: made.FixedIP,
		}).Extract())
		changed := must[*floatingips.FloatingIP](t)(floatingips.Update(ctx, c, made.ID, floatingips.UpdateOpts{
			Description: new("new"), PortID: new(""),
		}).Extract())
		if changed.Description != "new" || changed.PortID != "" || changed.RouterID != "" {
			t.Errorf("after the update: %+v", changed)
		}
		pages, err := floatingips.List(c, floatingips.ListOpts{FloatingIP: made.FloatingIP}).AllPages(ctx)
		if found := must[[]floatingips.FloatingIP](t)(must2(floatingips.ExtractFloatingIPs(pages))(err)); len(found) != 1 {
			t.Errorf("found %d by address", len(found))
		}
		if err := floatingips.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = floatingips.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "FloatingIPNotFound", openstack.NotFound)
	})
}

func TestTrunk(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		network := makeNetwork(t, c, "trunk")
		port := func() *ports.Port { return makePort(t, c, ports.CreateOpts{NetworkID: network.ID}) }
		parent, child, other := port(), port(), port()
		sub := func(port *ports.Port, id int) trunks.Subport {
			return trunks.Subport{PortID: port.ID, SegmentationType: "vlan", SegmentationID: id}
		}
		made := must[*trunks.Trunk](t)(trunks.Create(ctx, c, trunks.CreateOpts{
			PortID: parent.ID, Name: unique("trunk"), Subports: []trunks.Subport{sub(child, 7)},
		}).Extract())
		later(t, "trunk", func(ctx context.Context) error {
			_, _ = trunks.Update(ctx, c, made.ID, trunks.UpdateOpts{AdminStateUp: new(true)}).Extract()
			return trunks.Delete(ctx, c, made.ID).ExtractErr()
		})
		if made.PortID != parent.ID || len(made.Subports) != 1 || !made.AdminStateUp {
			t.Errorf("a trunk: %+v", made)
		}
		_, err := trunks.Create(ctx, c, trunks.CreateOpts{PortID: parent.ID}).Extract()
		refused(t, err, http.StatusConflict, "ParentPortInUse", openstack.Busy)
		refused(t, ports.Delete(ctx, c, parent.ID).ExtractErr(), http.StatusConflict, "PortInUseAsTrunkParent", openstack.Busy)
		refused(t, ports.Delete(ctx, c, child.ID).ExtractErr(), http.StatusConflict, "PortInUseAsSubPort", openstack.Busy)
		add := func(s trunks.Subport) error {
			_, err := trunks.AddSubports(ctx, c, made.ID, trunks.AddSubportsOpts{Subports: []trunks.Subport{s}}).Extract()
			return err
		}
		refused(t, add(sub(other, 7)), http.StatusConflict, "DuplicateSubPort", openstack.Busy)
		refused(t, add(sub(child, 8)), http.StatusConflict, "TrunkPortInUse", openstack.Busy)
		refused(t, add(sub(other, 5000)), http.StatusBadRequest, "", openstack.Invalid)
		if err := add(sub(other, 8)); err != nil {
			t.Fatal(err)
		}
		removed := must[*trunks.Trunk](t)(trunks.RemoveSubports(ctx, c, made.ID, trunks.RemoveSubportsOpts{
			Subports: []trunks.RemoveSubport{{PortID: child.ID}},
		}).Extract())
		if len(removed.Subports) != 1 || removed.Subports[0].PortID != other.ID {
			t.Errorf("after the removal: %+v", removed.Subports)
		}
		down := must[*trunks.Trunk](t)(trunks.Update(ctx, c, made.ID, trunks.UpdateOpts{
			Name: new("new"), AdminStateUp: new(false),
		}).Extract())
		if down.Name != "new" || down.AdminStateUp {
			t.Errorf("after the update: %+v", down)
		}
		refused(t, trunks.Delete(ctx, c, made.ID).ExtractErr(), http.StatusConflict, "TrunkDisabled", openstack.Busy)
		must[*trunks.Trunk](t)(trunks.Update(ctx, c, made.ID, trunks.UpdateOpts{AdminStateUp: new(true)}).Extract())
		if err := trunks.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = trunks.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "TrunkNotFound", openstack.NotFound)
	})
}

// TestFloatingIPMark: a floating IP is identified by a field of its POST. POST accepts no tags,
// so this field is the description, and a list can filter by it.
func TestFloatingIPMark(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		l := &lister{T: t, w: w, scope: w.member, project: w.member.ProjectID}
		c, mark := l.network(), unique("mark")
		network := public(t, c)
		ask := fields{"floatingip": fields{"floating_network_id": network, "tags": []string{mark}}}
		err := send(t.Context(), c, http.MethodPost, c.ServiceURL("floatingips"), ask, nil)
		refused(t, err, http.StatusBadRequest, "HTTPBadRequest", openstack.Invalid)
		id := l.post((*openstack.Scope).Network, "floatingips", "floatingip", fields{
			"name": nil, "floating_network_id": network, "description": mark,
		})
		pages, err := floatingips.List(c, floatingips.ListOpts{Description: mark}).AllPages(t.Context())
		found := must[[]floatingips.FloatingIP](t)(must2(floatingips.ExtractFloatingIPs(pages))(err))
		if len(found) != 1 || found[0].ID != id || len(found[0].Tags) > 0 {
			t.Errorf("found by the mark: %+v", found)
		}
	})
}
