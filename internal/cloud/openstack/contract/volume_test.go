package contract_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/sharenetworks"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// dropVolume deletes a volume and waits for the end of its deletion.
func dropVolume(ctx context.Context, c *gophercloud.ServiceClient, id string) error {
	if err := deleteVolume(ctx, c, id); err != nil {
		return err
	}
	return awaitGone(ctx, func() error {
		_, err := volumes.Get(ctx, c, id).Extract()
		return err
	})
}

func deleteVolume(ctx context.Context, c *gophercloud.ServiceClient, id string) error {
	return volumes.Delete(ctx, c, id, volumes.DeleteOpts{}).ExtractErr()
}

func awaitVolume(t *testing.T, c *gophercloud.ServiceClient, id, status string) *volumes.Volume {
	t.Helper()
	var read *volumes.Volume
	soon(t, "the volume is "+status, func() (bool, error) {
		var err error
		read, err = volumes.Get(t.Context(), c, id).Extract()
		return err == nil && read.Status == status, err
	})
	return read
}

func makeVolume(t *testing.T, c *gophercloud.ServiceClient) *volumes.Volume {
	t.Helper()
	made := must[*volumes.Volume](t)(volumes.Create(t.Context(), c, volumes.CreateOpts{
		Name: unique("volume"), Size: 1, Metadata: map[string]string{"kinship-uid": "1"},
	}, nil).Extract())
	later(t, "volume", func(ctx context.Context) error { return dropVolume(ctx, c, made.ID) })
	return awaitVolume(t, c, made.ID, "available")
}

func TestVolume(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Volume)
		made := makeVolume(t, c)
		if made.Size != 1 || made.Metadata["kinship-uid"] != "1" || made.Bootable != "false" || made.AvailabilityZone != "nova" ||
			made.VolumeType != "__DEFAULT__" || len(made.Attachments) != 0 || made.UserID != w.member.UserID {
			t.Errorf("a minimal volume: %+v", made)
		}
		changed := must[*volumes.Volume](t)(volumes.Update(ctx, c, made.ID, volumes.UpdateOpts{
			Name: new("new"), Description: new("new"),
		}).Extract())
		if changed.Name != "new" || changed.Description != "new" {
			t.Errorf("after the update: %+v", changed)
		}
		must[*volumes.Volume](t)(volumes.Update(ctx, c, made.ID, volumes.UpdateOpts{Name: &made.Name, Description: new("")}).Extract())
		pages, err := volumes.List(c, volumes.ListOpts{Name: made.Name, Status: "available"}).AllPages(ctx)
		if found := must[[]volumes.Volume](t)(must2(volumes.ExtractVolumes(pages))(err)); len(found) != 1 {
			t.Errorf("found %d by name", len(found))
		}
		if err := deleteVolume(ctx, c, made.ID); err != nil {
			t.Fatal(err)
		}
		soon(t, "the volume is gone", func() (bool, error) {
			_, err := volumes.Get(ctx, c, made.ID).Extract()
			if openstack.IsNotFound(err) {
				return true, nil
			}
			return false, err
		})
		gone(t, deleteVolume(ctx, c, made.ID))
	})
}

func TestVolumeFromImage(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Volume)
		made := must[*volumes.Volume](t)(volumes.Create(ctx, c, volumes.CreateOpts{
			Name: unique("volume"), Size: 1, ImageID: cirros(t, w),
		}, nil).Extract())
		later(t, "volume", func(ctx context.Context) error { return dropVolume(ctx, c, made.ID) })
		read := awaitVolume(t, c, made.ID, "available")
		if read.Bootable != "true" || read.VolumeImageMetadata["image_id"] != cirros(t, w) {
			t.Errorf("a volume from an image: %+v", read)
		}
	})
}

func TestVolumeRefused(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Volume)
		for _, tt := range []struct {
			reason string
			opts   volumes.CreateOpts
			status int
			class  openstack.Class
		}{
			{"size", volumes.CreateOpts{Size: -1}, 400, openstack.Invalid},
			{"type", volumes.CreateOpts{Size: 1, VolumeType: "bogus"}, 404, openstack.NotFound},
			{"image", volumes.CreateOpts{Size: 1, ImageID: noSuch}, 400, openstack.Busy},
			{"zone", volumes.CreateOpts{Size: 1, AvailabilityZone: "bogus"}, 400, openstack.Invalid},
		} {
			t.Run(tt.reason, func(t *testing.T) {
				_, err := volumes.Create(ctx, c, tt.opts, nil).Extract()
				refused(t, err, tt.status, "", tt.class)
			})
		}
	})
}

func TestVolumeType(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Volume)
		made := must[*volumetypes.VolumeType](t)(volumetypes.Create(ctx, c, volumetypes.CreateOpts{
			Name: unique("type"), Description: "one", IsPublic: new(false), ExtraSpecs: map[string]string{"a": "1"},
		}).Extract())
		later(t, "volume type", func(ctx context.Context) error { return volumetypes.Delete(ctx, c, made.ID).ExtractErr() })
		if made.IsPublic || made.Description != "one" || made.ExtraSpecs["a"] != "1" {
			t.Errorf("a volume type: %+v", made)
		}
		changed := must[*volumetypes.VolumeType](t)(volumetypes.Update(ctx, c, made.ID, volumetypes.UpdateOpts{
			Name: new(made.Name + "-new"), Description: new("new"), IsPublic: new(true),
		}).Extract())
		if changed.Name != made.Name+"-new" || changed.Description != "new" || !changed.IsPublic {
			t.Errorf("after the update: %+v", changed)
		}
		_, err := volumetypes.Create(ctx, c, volumetypes.CreateOpts{Name: changed.Name}).Extract()
		refused(t, err, http.StatusConflict, "", openstack.Exists)
		_, err = volumetypes.Create(ctx, client(t, w.member.Volume), volumetypes.CreateOpts{Name: unique("type")}).Extract()
		refused(t, err, http.StatusForbidden, "", openstack.Forbidden)
		must[map[string]string](t)(volumetypes.CreateExtraSpecs(ctx, c, made.ID, volumetypes.ExtraSpecsOpts{"b": "2"}).Extract())
		if err := volumetypes.DeleteExtraSpec(ctx, c, made.ID, "a").ExtractErr(); err != nil {
			t.Fatal(err)
		}
		specs := must[map[string]string](t)(volumetypes.ListExtraSpecs(ctx, c, made.ID).Extract())
		if diff := cmp.Diff(map[string]string{"b": "2"}, specs); diff != "" {
			t.Errorf("extra specs (-want +got):\n%s", diff)
		}
		gone(t, volumetypes.DeleteExtraSpec(ctx, c, made.ID, "a").ExtractErr())
		if err := volumetypes.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = volumetypes.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
	})
}

func TestShareNetwork(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		c, err := w.member.Share(ctx)
		if err != nil {
			t.Skipf("no Manila here: %v", err)
		}
		made := must[*sharenetworks.ShareNetwork](t)(sharenetworks.Create(ctx, c, sharenetworks.CreateOpts{
			Name: unique("share"), NeutronNetID: noSuch, NeutronSubnetID: noSuch,
		}).Extract())
		later(t, "share network", func(ctx context.Context) error { return sharenetworks.Delete(ctx, c, made.ID).ExtractErr() })
		changed := must[*sharenetworks.ShareNetwork](t)(sharenetworks.Update(ctx, c, made.ID, sharenetworks.UpdateOpts{
			Name: new("new"), Description: new("new"),
		}).Extract())
		if changed.Name != "new" || changed.Description != "new" || changed.NeutronNetID != noSuch {
			t.Errorf("after the update: %+v", changed)
		}
		_, err = sharenetworks.Create(ctx, c, sharenetworks.CreateOpts{NeutronNetID: noSuch}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
		pages, err := sharenetworks.ListDetail(c, sharenetworks.ListOpts{Name: "new"}).AllPages(ctx)
		if found := must[[]sharenetworks.ShareNetwork](t)(must2(sharenetworks.ExtractShareNetworks(pages))(err)); len(found) != 1 {
			t.Errorf("found %d by name", len(found))
		}
		if err := sharenetworks.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = sharenetworks.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
	})
}

// TestVolumeReset deletes a volume whose first deletion has failed.
func TestVolumeReset(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, member, admin := t.Context(), client(t, w.member.Volume), client(t, w.admin.Volume)
		made := makeVolume(t, member)
		reset := func(c *gophercloud.ServiceClient, status string) error {
			return volumes.ResetStatus(ctx, c, made.ID, volumes.ResetStatusOpts{Status: status}).ExtractErr()
		}
		if err := reset(member, "error_deleting"); !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
			t.Errorf("by a member: %v", err)
		}
		if err := reset(admin, "error_deleting"); err != nil {
			t.Fatal(err)
		}
		awaitVolume(t, member, made.ID, "error_deleting")
		if err := deleteVolume(ctx, member, made.ID); !gophercloud.ResponseCodeIs(err, http.StatusBadRequest) {
			t.Errorf("deleted as it is: %v", err)
		}
		if err := reset(admin, "available"); err != nil {
			t.Fatal(err)
		}
	})
}
