package contract_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// TestServerWithoutHost requests a resource that no host has: Nova accepts the request, and the
// server fails later.
func TestServerWithoutHost(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c, admin := t.Context(), client(t, w.member.Compute), client(t, w.admin.Compute)
		flavor := makeFlavor(t, admin, flavors.CreateOpts{})
		must[map[string]string](t)(flavors.CreateExtraSpecs(ctx, admin, flavor.ID,
			flavors.ExtraSpecsOpts{"resources:CUSTOM_DREAM": "1"}).Extract())
		made := must[*servers.Server](t)(servers.Create(ctx, c, servers.CreateOpts{
			Name: unique("server"), FlavorRef: flavor.ID, ImageRef: cirros(t, w), Networks: "none",
		}, nil).Extract())
		later(t, "server", func(ctx context.Context) error {
			if err := servers.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
				return err
			}
			return awaitGone(ctx, func() error {
				_, err := servers.Get(ctx, c, made.ID).Extract()
				return err
			})
		})
		var read *servers.Server
		soon(t, "the server fails", func() (bool, error) {
			var err error
			read, err = servers.Get(ctx, c, made.ID).Extract()
			return err == nil && read.Status == "ERROR", err
		})
		if !strings.HasPrefix(read.Fault.Message, "No valid host was found.") {
			t.Errorf("its fault: %+v", read.Fault)
		}
	})
}

func makeVolumeType(t *testing.T, c *gophercloud.ServiceClient, opts volumetypes.CreateOpts) *volumetypes.VolumeType {
	t.Helper()
	opts.Name = unique("type")
	made := must[*volumetypes.VolumeType](t)(volumetypes.Create(t.Context(), c, opts).Extract())
	later(t, "volume type", func(ctx context.Context) error { return volumetypes.Delete(ctx, c, made.ID).ExtractErr() })
	return made
}

// TestVolumeWithoutBackend asks for a backend that isn't there. The type can't be
// changed while there is such a volume.
func TestVolumeWithoutBackend(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c, admin := t.Context(), client(t, w.member.Volume), client(t, w.admin.Volume)
		sort := makeVolumeType(t, admin, volumetypes.CreateOpts{
			ExtraSpecs: map[string]string{"volume_backend_name": "nowhere"},
		})
		made := must[*volumes.Volume](t)(volumes.Create(ctx, c, volumes.CreateOpts{
			Name: unique("volume"), Size: 1, VolumeType: sort.ID,
		}, nil).Extract())
		later(t, "volume", func(ctx context.Context) error { return dropVolume(ctx, c, made.ID) })
		awaitVolume(t, c, made.ID, "error")
		_, err := volumetypes.CreateExtraSpecs(ctx, admin, sort.ID, volumetypes.ExtraSpecsOpts{"b": "2"}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Busy)
	})
}

// TestVolumeTypesListed: private volume types are listed on request.
func TestVolumeTypesListed(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		c := client(t, w.admin.Volume)
		made := makeVolumeType(t, c, volumetypes.CreateOpts{IsPublic: new(false)})
		for query, want := range map[string]bool{"": false, "?is_public=None": true} {
			var listed struct {
				Types []volumetypes.VolumeType `json:"volume_types"`
			}
			if err := send(t.Context(), c, http.MethodGet, c.ServiceURL("types")+query, nil, &listed); err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(listed.Types, func(sort volumetypes.VolumeType) bool { return sort.ID == made.ID })
			if found != want {
				t.Errorf("types%s: found %t, want %t", query, found, want)
			}
		}
	})
}
