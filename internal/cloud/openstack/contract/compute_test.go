package contract_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDpT/cMsQyZrFfGcWcTzqvVqQy2rXU5tXZxk8mJmXv3z contract"

func makeFlavor(t *testing.T, c *gophercloud.ServiceClient, opts flavors.CreateOpts) *flavors.Flavor {
	t.Helper()
	opts.Name, opts.RAM, opts.VCPUs, opts.Disk = unique("flavor"), 64, 1, new(1)
	made := must[*flavors.Flavor](t)(flavors.Create(t.Context(), c, opts).Extract())
	later(t, "flavor", func(ctx context.Context) error { return flavors.Delete(ctx, c, made.ID).ExtractErr() })
	return made
}

func TestFlavor(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Compute)
		made := makeFlavor(t, c, flavors.CreateOpts{Description: "one", Swap: new(8), Ephemeral: new(2), IsPublic: new(false)})
		if made.RAM != 64 || made.Swap != 8 || made.Ephemeral != 2 || made.IsPublic || made.Description != "one" {
			t.Errorf("a flavor: %+v", made)
		}
		chosen := makeFlavor(t, c, flavors.CreateOpts{ID: unique("id")})
		if chosen.ID == "" || !chosen.IsPublic || !strings.HasPrefix(chosen.ID, "contract-id") {
			t.Errorf("a flavor with an ID: %+v", chosen)
		}
		_, err := flavors.Create(ctx, c, flavors.CreateOpts{Name: made.Name, RAM: 1, VCPUs: 1, Disk: new(0)}).Extract()
		refused(t, err, http.StatusConflict, "", openstack.Exists)
		_, err = flavors.Create(ctx, c, flavors.CreateOpts{Name: unique("f"), RAM: -1, VCPUs: 1, Disk: new(0)}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
		_, err = flavors.Create(ctx, client(t, w.member.Compute), flavors.CreateOpts{Name: unique("f"), RAM: 1, VCPUs: 1, Disk: new(0)}).Extract()
		refused(t, err, http.StatusForbidden, "", openstack.Forbidden)
		checkExtraSpecs(t, c, made.ID)
		pages, err := flavors.ListDetail(c, flavors.ListOpts{AccessType: flavors.AllAccess}).AllPages(ctx)
		found := 0
		for _, flavor := range must[[]flavors.Flavor](t)(must2(flavors.ExtractFlavors(pages))(err)) {
			if flavor.ID == made.ID || flavor.ID == chosen.ID {
				found++
			}
		}
		if found != 2 {
			t.Errorf("found %d", found)
		}
		if err := flavors.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = flavors.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
	})
}

// TestUnknownFilter: Nova refuses an unknown filter, and a name as a filter.
func TestUnknownFilter(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		c := client(t, w.member.Compute)
		for _, path := range []string{"flavors/detail", "os-keypairs", "os-server-groups"} {
			_, err := c.Get(t.Context(), c.ServiceURL(path)+"?name=x", nil, nil) //nolint:bodyclose // refused
			refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
		}
	})
}

func checkExtraSpecs(t *testing.T, c *gophercloud.ServiceClient, id string) {
	t.Helper()
	ctx := t.Context()
	specs := flavors.ExtraSpecsOpts{"hw:cpu_policy": "shared", "hw:mem_page_size": "any"}
	must[map[string]string](t)(flavors.CreateExtraSpecs(ctx, c, id, specs).Extract())
	read := must[*flavors.Flavor](t)(flavors.Get(ctx, c, id).Extract())
	if diff := cmp.Diff(map[string]string(specs), read.ExtraSpecs); diff != "" {
		t.Errorf("extra specs (-want +got):\n%s", diff)
	}
	if err := flavors.DeleteExtraSpec(ctx, c, id, "hw:cpu_policy").ExtractErr(); err != nil {
		t.Fatal(err)
	}
	gone(t, flavors.DeleteExtraSpec(ctx, c, id, "hw:cpu_policy").ExtractErr())
}

func TestKeyPair(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Compute)
		name := unique("key")
		made := must[*keypairs.KeyPair](t)(keypairs.Create(ctx, c, keypairs.CreateOpts{
			Name: name, PublicKey: publicKey, Type: "ssh",
		}).Extract())
		later(t, "key pair", func(ctx context.Context) error { return keypairs.Delete(ctx, c, name, nil).ExtractErr() })
		read := must[*keypairs.KeyPair](t)(keypairs.Get(ctx, c, name, nil).Extract())
		if read.Fingerprint != made.Fingerprint || read.PublicKey != publicKey || read.Type != "ssh" || len(read.Fingerprint) != 47 {
			t.Errorf("a key pair: %+v", read)
		}
		_, err := keypairs.Create(ctx, c, keypairs.CreateOpts{Name: name, PublicKey: publicKey}).Extract()
		refused(t, err, http.StatusConflict, "", openstack.Exists)
		_, err = keypairs.Create(ctx, c, keypairs.CreateOpts{Name: unique("key"), PublicKey: "x"}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
		if err := keypairs.Delete(ctx, c, name, nil).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = keypairs.Get(ctx, c, name, nil).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
	})
}

func TestServerGroup(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Compute)
		name := unique("group")
		make := func(opts servergroups.CreateOpts) (*servergroups.ServerGroup, error) {
			opts.Name = name
			made, err := servergroups.Create(ctx, c, opts).Extract()
			if err == nil {
				later(t, "server group", func(ctx context.Context) error { return servergroups.Delete(ctx, c, made.ID).ExtractErr() })
			}
			return made, err
		}
		made := must[*servergroups.ServerGroup](t)(make(servergroups.CreateOpts{
			Policy: "anti-affinity", Rules: &servergroups.Rules{MaxServerPerHost: 3},
		}))
		if *made.Policy != "anti-affinity" || made.Rules.MaxServerPerHost != 3 || len(made.Members) != 0 ||
			made.ProjectID != w.member.ProjectID || made.UserID != w.member.UserID {
			t.Errorf("a server group: %+v", made)
		}
		// A name is not unique here.
		twin := must[*servergroups.ServerGroup](t)(make(servergroups.CreateOpts{Policy: "soft-affinity"}))
		if twin.ID == made.ID {
			t.Error("the second of a name is the first")
		}
		_, err := make(servergroups.CreateOpts{Policy: "bogus"})
		refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
		_, err = make(servergroups.CreateOpts{Policy: "affinity", Rules: &servergroups.Rules{MaxServerPerHost: 3}})
		refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
		if err := servergroups.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = servergroups.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
	})
}
