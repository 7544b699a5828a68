package contract_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/addressscopes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

const noSuch = "00000000-0000-4000-8000-000000000000"

func makeNetwork(t *testing.T, c *gophercloud.ServiceClient, prefix string) *networks.Network {
	t.Helper()
	made := must[*networks.Network](t)(networks.Create(t.Context(), c, networks.CreateOpts{Name: unique(prefix)}).Extract())
	later(t, "network", func(ctx context.Context) error { return networks.Delete(ctx, c, made.ID).ExtractErr() })
	return made
}

func makeSubnet(t *testing.T, c *gophercloud.ServiceClient, network, cidr string) *subnets.Subnet {
	t.Helper()
	made := must[*subnets.Subnet](t)(subnets.Create(t.Context(), c, subnets.CreateOpts{
		NetworkID: network, CIDR: cidr, IPVersion: gophercloud.IPv4, Name: unique("subnet"),
	}).Extract())
	later(t, "subnet", func(ctx context.Context) error { return subnets.Delete(ctx, c, made.ID).ExtractErr() })
	return made
}

func makePort(t *testing.T, c *gophercloud.ServiceClient, opts ports.CreateOpts) *ports.Port {
	t.Helper()
	made := must[*ports.Port](t)(ports.Create(t.Context(), c, opts).Extract())
	later(t, "port", func(ctx context.Context) error { return ports.Delete(ctx, c, made.ID).ExtractErr() })
	return made
}

func listNetworks(t *testing.T, c *gophercloud.ServiceClient, opts networks.ListOpts) []string {
	t.Helper()
	pages, err := networks.List(c, opts).AllPages(t.Context())
	found := must[[]networks.Network](t)(must2(networks.ExtractNetworks(pages))(err))
	names := make([]string, 0, len(found))
	for _, network := range found {
		names = append(names, network.Name)
	}
	slices.Sort(names)
	return names
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		made := makeNetwork(t, c, "network")
		if made.Status != "ACTIVE" || !made.AdminStateUp || made.Shared || made.ProjectID != w.member.ProjectID ||
			made.RevisionNumber == 0 || made.CreatedAt.IsZero() || len(made.Subnets) != 0 {
			t.Errorf("a minimal network: %+v", made)
		}
		changed := must[*networks.Network](t)(networks.Update(ctx, c, made.ID, networks.UpdateOpts{
			Name: new(made.Name + "-new"), Description: new("new"), AdminStateUp: new(false),
		}).Extract())
		if changed.Name != made.Name+"-new" || changed.Description != "new" || changed.AdminStateUp ||
			changed.RevisionNumber <= made.RevisionNumber {
			t.Errorf("after the update: %+v", changed)
		}
		stale := networks.Update(ctx, c, made.ID, networks.UpdateOpts{Name: &made.Name, RevisionNumber: &made.RevisionNumber})
		refused(t, stale.Err, http.StatusPreconditionFailed, "RevisionNumberConstraintFailed", openstack.Busy)
		back := must[*networks.Network](t)(networks.Update(ctx, c, made.ID, networks.UpdateOpts{
			Name: &made.Name, Description: new(""), AdminStateUp: new(true),
		}).Extract())
		back.UpdatedAt, back.RevisionNumber = made.UpdatedAt, made.RevisionNumber
		if diff := cmp.Diff(made, back); diff != "" {
			t.Errorf("not back where it was (-want +got):\n%s", diff)
		}
		if err := networks.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		gone(t, networks.Delete(ctx, c, made.ID).ExtractErr())
		_, err := networks.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "NetworkNotFound", openstack.NotFound)
	})
}

func TestNetworkFull(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Network)
		opts := external.CreateOptsExt{
			CreateOptsBuilder: networks.CreateOpts{
				Name: unique("full"), Description: "full", AdminStateUp: new(false), Shared: new(true),
				ProjectID: w.member.ProjectID,
			},
			External: new(true),
		}
		var made struct {
			networks.Network
			external.NetworkExternalExt
		}
		if err := networks.Create(ctx, c, opts).ExtractInto(&made); err != nil {
			t.Fatal(err)
		}
		later(t, "network", func(ctx context.Context) error { return networks.Delete(ctx, c, made.ID).ExtractErr() })
		if made.AdminStateUp || !made.Shared || !made.External || made.ProjectID != w.member.ProjectID {
			t.Errorf("a full network: %+v", made)
		}
		member := client(t, w.member.Network)
		_, err := networks.Create(ctx, member, networks.CreateOpts{Name: unique("shared"), Shared: new(true)}).Extract()
		refused(t, err, http.StatusForbidden, "PolicyNotAuthorized", openstack.Forbidden)
		_, err = networks.Create(ctx, member, networks.CreateOpts{Name: string(make([]byte, 300))}).Extract()
		refused(t, err, http.StatusBadRequest, "HTTPBadRequest", openstack.Invalid)
	})
}

func TestNetworkOfOthers(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		hidden := makeNetwork(t, client(t, w.admin.Network), "hidden")
		_, err := networks.Get(t.Context(), client(t, w.member.Network), hidden.ID).Extract()
		refused(t, err, http.StatusNotFound, "NetworkNotFound", openstack.NotFound)
	})
}

func TestNetworkInUse(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		network := makeNetwork(t, c, "used")
		subnet := makeSubnet(t, c, network.ID, "10.1.0.0/24")
		port := makePort(t, c, ports.CreateOpts{NetworkID: network.ID, Name: unique("port")})
		refused(t, networks.Delete(ctx, c, network.ID).ExtractErr(), http.StatusConflict, "NetworkInUse", openstack.Busy)
		refused(t, subnets.Delete(ctx, c, subnet.ID).ExtractErr(), http.StatusConflict, "SubnetInUse", openstack.Busy)
		if err := ports.Delete(ctx, c, port.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		// Its subnets go with a network.
		if err := networks.Delete(ctx, c, network.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err := subnets.Get(ctx, c, subnet.ID).Extract()
		refused(t, err, http.StatusNotFound, "SubnetNotFound", openstack.NotFound)
	})
}

func TestNetworkTagsAndFilters(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		prefix := unique("tags")
		for _, n := range []struct {
			name string
			tags []string
		}{{"none", nil}, {"a", []string{"a"}}, {"ab", []string{"a", "b"}}} {
			made := must[*networks.Network](t)(networks.Create(ctx, c, networks.CreateOpts{
				Name: n.name, Description: prefix,
			}).Extract())
			later(t, "network", func(ctx context.Context) error { return networks.Delete(ctx, c, made.ID).ExtractErr() })
			if n.tags == nil {
				continue
			}
			tags, err := attributestags.ReplaceAll(ctx, c, "networks", made.ID, attributestags.ReplaceAllOpts{Tags: n.tags}).Extract()
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(tags)
			if diff := cmp.Diff(n.tags, tags); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
		}
		for _, tt := range []struct {
			reason string
			opts   networks.ListOpts
			want   []string
		}{
			{"no filter but the description", networks.ListOpts{}, []string{"a", "ab", "none"}},
			{"all of the tags", networks.ListOpts{Tags: "a,b"}, []string{"ab"}},
			{"any of the tags", networks.ListOpts{TagsAny: "a,b"}, []string{"a", "ab"}},
			{"not all of the tags", networks.ListOpts{NotTags: "a,b"}, []string{"a", "none"}},
			{"none of the tags", networks.ListOpts{NotTagsAny: "a,b"}, []string{"none"}},
			{"name", networks.ListOpts{Name: "ab"}, []string{"ab"}},
			{"project", networks.ListOpts{ProjectID: noSuch}, []string{}},
			{"pages of one", networks.ListOpts{Limit: 1}, []string{"a", "ab", "none"}},
		} {
			tt.opts.Description = prefix
			if diff := cmp.Diff(tt.want, listNetworks(t, c, tt.opts)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		}
	})
}

func TestAddressScope(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Network)
		made := must[*addressscopes.AddressScope](t)(addressscopes.Create(ctx, c, addressscopes.CreateOpts{
			Name: unique("scope"), IPVersion: 4,
		}).Extract())
		later(t, "address scope", func(ctx context.Context) error { return addressscopes.Delete(ctx, c, made.ID).ExtractErr() })
		changed := must[*addressscopes.AddressScope](t)(addressscopes.Update(ctx, c, made.ID, addressscopes.UpdateOpts{
			Name: new(made.Name + "-new"), Shared: new(true),
		}).Extract())
		if !changed.Shared || changed.Name != made.Name+"-new" || changed.IPVersion != 4 {
			t.Errorf("after the update: %+v", changed)
		}
		_, err := addressscopes.Update(ctx, c, made.ID, addressscopes.UpdateOpts{Shared: new(false)}).Extract()
		refused(t, err, http.StatusBadRequest, "AddressScopeUpdateError", openstack.Invalid)
		_, err = addressscopes.Create(ctx, c, addressscopes.CreateOpts{Name: unique("scope"), IPVersion: 5}).Extract()
		refused(t, err, http.StatusBadRequest, "HTTPBadRequest", openstack.Invalid)
		_, err = addressscopes.Create(ctx, client(t, w.member.Network), addressscopes.CreateOpts{
			Name: unique("scope"), IPVersion: 4, Shared: true,
		}).Extract()
		refused(t, err, http.StatusForbidden, "PolicyNotAuthorized", openstack.Forbidden)
		pages, err := addressscopes.List(c, addressscopes.ListOpts{Name: changed.Name, IPVersion: 4}).AllPages(ctx)
		found := must[[]addressscopes.AddressScope](t)(must2(addressscopes.ExtractAddressScopes(pages))(err))
		if len(found) != 1 || found[0].ID != made.ID {
			t.Errorf("found by name: %+v", found)
		}
		if err := addressscopes.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = addressscopes.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "AddressScopeNotFound", openstack.NotFound)
	})
}
