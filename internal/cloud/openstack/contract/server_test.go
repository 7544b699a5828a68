package contract_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/attachinterfaces"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/tags"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// cirros is the image that every cloud of ours has.
func cirros(t *testing.T, w *world) string {
	t.Helper()
	pages, err := images.List(client(t, w.member.Image), images.ListOpts{Name: "cirros"}).AllPages(t.Context())
	found := must[[]images.Image](t)(must2(images.ExtractImages(pages))(err))
	if len(found) != 1 {
		t.Fatalf("%d images are called cirros", len(found))
	}
	return found[0].ID
}

func makeServer(t *testing.T, c *gophercloud.ServiceClient, opts servers.CreateOpts) *servers.Server {
	t.Helper()
	opts.FlavorRef = "1"
	made := must[*servers.Server](t)(servers.Create(t.Context(), c, opts, nil).Extract())
	later(t, "server", func(ctx context.Context) error { return dropServer(ctx, c, made.ID) })
	return awaitServer(t, c, made.ID)
}

// dropServer deletes a server and waits for the end of its deletion.
func dropServer(ctx context.Context, c *gophercloud.ServiceClient, id string) error {
	if err := servers.Delete(ctx, c, id).ExtractErr(); err != nil && !openstack.IsNotFound(err) {
		return err
	}
	return awaitGone(ctx, func() error {
		_, err := servers.Get(ctx, c, id).Extract()
		return err
	})
}

func awaitServer(t *testing.T, c *gophercloud.ServiceClient, id string) *servers.Server {
	t.Helper()
	var read *servers.Server
	soon(t, "the server is ACTIVE", func() (bool, error) {
		var err error
		read, err = servers.Get(t.Context(), c, id).Extract()
		return err == nil && read.Status == "ACTIVE", err
	})
	return read
}

func TestServer(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c, n := t.Context(), client(t, w.member.Compute), client(t, w.member.Network)
		network := makeNetwork(t, n, "server")
		makeSubnet(t, n, network.ID, "10.20.0.0/24")
		port, second := makePort(t, n, ports.CreateOpts{NetworkID: network.ID}), makePort(t, n, ports.CreateOpts{NetworkID: network.ID})
		name := unique("server")
		made := makeServer(t, c, servers.CreateOpts{
			Name: name, ImageRef: cirros(t, w), Networks: []servers.Network{{Port: port.ID}}, Tags: []string{"a", "b"},
			Metadata: map[string]string{"kinship-uid": "1"}, ConfigDrive: new(true), UserData: []byte("#!/bin/sh"),
		})
		slices.Sort(*made.Tags)
		if made.Name != name || made.Metadata["kinship-uid"] != "1" || !cmp.Equal([]string{"a", "b"}, *made.Tags) ||
			!made.ConfigDrive || len(made.Addresses) != 1 || made.HostID == "" || made.AvailabilityZone != "nova" {
			t.Errorf("a server: %+v", made)
		}
		bound := must[*ports.Port](t)(ports.Get(ctx, n, port.ID).Extract())
		if bound.DeviceID != made.ID || bound.DeviceOwner != "compute:nova" || bound.Status != "ACTIVE" {
			t.Errorf("its port: %+v", bound)
		}
		_, err := servers.Create(ctx, c, servers.CreateOpts{
			Name: unique("server"), FlavorRef: "1", ImageRef: cirros(t, w), Networks: []servers.Network{{Port: port.ID}},
		}, nil).Extract()
		refused(t, err, http.StatusConflict, "", openstack.Busy)
		checkServerUpdates(t, c, made.ID)
		checkInterfaces(t, c, made.ID, second.ID)
		findServer(t, c)
		if err := servers.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		soon(t, "the server is gone", func() (bool, error) {
			_, err := servers.Get(ctx, c, made.ID).Extract()
			if openstack.IsNotFound(err) {
				return true, nil
			}
			return false, err
		})
		// A port that was there before the server stays, free.
		left := must[*ports.Port](t)(ports.Get(ctx, n, port.ID).Extract())
		if left.DeviceID != "" || left.Status != "DOWN" {
			t.Errorf("the port that is left: %+v", left)
		}
	})
}

func findServer(t *testing.T, c *gophercloud.ServiceClient) {
	t.Helper()
	for reason, opts := range map[string]servers.ListOpts{
		"name": {Name: "^new$", Tags: "b"}, "tags": {Tags: "b", Name: "^new$"}, "no tags": {NotTags: "z", Name: "^new$"},
	} {
		pages, err := servers.List(c, opts).AllPages(t.Context())
		if found := must[[]servers.Server](t)(must2(servers.ExtractServers(pages))(err)); len(found) != 1 {
			t.Errorf("found %d by %s", len(found), reason)
		}
	}
}

func checkServerUpdates(t *testing.T, c *gophercloud.ServiceClient, id string) {
	t.Helper()
	ctx := t.Context()
	if changed := must[*servers.Server](t)(servers.Update(ctx, c, id, servers.UpdateOpts{Name: "new"}).Extract()); changed.Name != "new" {
		t.Errorf("after the update: %+v", changed)
	}
	must[[]string](t)(tags.ReplaceAll(ctx, c, id, tags.ReplaceAllOpts{Tags: []string{"b"}}).Extract())
	must[map[string]string](t)(servers.UpdateMetadata(ctx, c, id, servers.MetadataOpts{"b": "2"}).Extract())
	if err := servers.DeleteMetadatum(ctx, c, id, "kinship-uid").ExtractErr(); err != nil {
		t.Fatal(err)
	}
	read := must[*servers.Server](t)(servers.Get(ctx, c, id).Extract())
	if !cmp.Equal([]string{"b"}, *read.Tags) || !cmp.Equal(map[string]string{"b": "2"}, read.Metadata) {
		t.Errorf("tags %v, metadata %v", *read.Tags, read.Metadata)
	}
	must[map[string]string](t)(servers.ResetMetadata(ctx, c, id, servers.MetadataOpts{}).Extract())
	_, err := tags.ReplaceAll(ctx, c, id, tags.ReplaceAllOpts{Tags: []string{"a/b"}}).Extract()
	refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
}

func checkInterfaces(t *testing.T, c *gophercloud.ServiceClient, server, port string) {
	t.Helper()
	ctx := t.Context()
	count := func() int {
		pages, err := attachinterfaces.List(c, server).AllPages(ctx)
		return len(must[[]attachinterfaces.Interface](t)(must2(attachinterfaces.ExtractInterfaces(pages))(err)))
	}
	added := must[*attachinterfaces.Interface](t)(attachinterfaces.Create(ctx, c, server,
		attachinterfaces.CreateOpts{PortID: port}).Extract())
	if added.PortID != port || count() != 2 {
		t.Errorf("an interface: %+v, %d in all", added, count())
	}
	_, err := attachinterfaces.Create(ctx, c, server, attachinterfaces.CreateOpts{PortID: port}).Extract()
	refused(t, err, http.StatusConflict, "", openstack.Busy)
	if err := attachinterfaces.Delete(ctx, c, server, port).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	soon(t, "the interface is gone", func() (bool, error) { return count() == 1, nil })
	// Nova accepts the request before it checks whether the port exists.
	if err := attachinterfaces.Delete(ctx, c, server, noSuch).ExtractErr(); err != nil {
		t.Errorf("detach a port that isn't there: %v", err)
	}
}

func TestServerRefused(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Compute)
		picture := cirros(t, w)
		nowhere, empty := []servers.Network{{Port: noSuch}}, makeVolume(t, client(t, w.member.Volume)).ID
		blank := makeImage(t, client(t, w.member.Image), images.CreateOpts{Name: unique("blank")}).ID
		for _, tt := range []struct {
			reason string
			opts   servers.CreateOpts
			class  openstack.Class
		}{
			{"flavor", servers.CreateOpts{FlavorRef: noSuch, ImageRef: picture, Networks: "none"}, openstack.Busy},
			{"image", servers.CreateOpts{FlavorRef: "1", ImageRef: noSuch, Networks: "none"}, openstack.Busy},
			{"image without content", servers.CreateOpts{FlavorRef: "1", ImageRef: blank, Networks: "none"}, openstack.Busy},
			{"port", servers.CreateOpts{FlavorRef: "1", ImageRef: picture, Networks: nowhere}, openstack.Busy},
			{
				"network",
				servers.CreateOpts{FlavorRef: "1", ImageRef: picture, Networks: []servers.Network{{UUID: noSuch}}},
				openstack.Busy,
			},
			{
				"zone",
				servers.CreateOpts{FlavorRef: "1", ImageRef: picture, Networks: "none", AvailabilityZone: "bogus"},
				openstack.Invalid,
			},
			{"nothing to boot", servers.CreateOpts{FlavorRef: "1", Networks: "none"}, openstack.Invalid},
			{"volume", servers.CreateOpts{FlavorRef: "1", Networks: "none", BlockDevice: []servers.BlockDevice{{
				SourceType: servers.SourceVolume, DestinationType: servers.DestinationVolume, UUID: noSuch,
			}}}, openstack.Busy},
			{"volume with nothing on it", servers.CreateOpts{FlavorRef: "1", Networks: "none", BlockDevice: []servers.BlockDevice{{
				SourceType: servers.SourceVolume, DestinationType: servers.DestinationVolume, UUID: empty,
			}}}, openstack.Busy},
		} {
			t.Run(tt.reason, func(t *testing.T) {
				tt.opts.Name = unique("refused")
				_, err := servers.Create(ctx, c, tt.opts, nil).Extract()
				refused(t, err, http.StatusBadRequest, "", tt.class)
			})
		}
		_, err := servers.Get(ctx, c, noSuch).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
		gone(t, servers.Delete(ctx, c, noSuch).ExtractErr())
	})
}

func TestServerVolumes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c, v := t.Context(), client(t, w.member.Compute), client(t, w.member.Volume)
		volume := makeVolume(t, v)
		server := makeServer(t, c, servers.CreateOpts{Name: unique("server"), ImageRef: cirros(t, w), Networks: "none"})
		attached := must[*volumeattach.VolumeAttachment](t)(volumeattach.Create(ctx, c, server.ID,
			volumeattach.CreateOpts{VolumeID: volume.ID}).Extract())
		if attached.VolumeID != volume.ID || attached.ServerID != server.ID {
			t.Errorf("an attachment: %+v", attached)
		}
		inUse := awaitVolume(t, v, volume.ID, "in-use")
		if len(inUse.Attachments) != 1 || inUse.Attachments[0].ServerID != server.ID {
			t.Errorf("an attached volume: %+v", inUse)
		}
		refused(t, deleteVolume(ctx, v, volume.ID), http.StatusBadRequest, "", openstack.Busy)
		_, err := volumeattach.Create(ctx, c, server.ID, volumeattach.CreateOpts{VolumeID: volume.ID}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Busy)
		read := must[*servers.Server](t)(servers.Get(ctx, c, server.ID).Extract())
		if len(read.AttachedVolumes) != 1 || read.AttachedVolumes[0].ID != volume.ID {
			t.Errorf("the server's volumes: %+v", read.AttachedVolumes)
		}
		if err := volumeattach.Delete(ctx, c, server.ID, volume.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		awaitVolume(t, v, volume.ID, "available")
		gone(t, volumeattach.Delete(ctx, c, server.ID, volume.ID).ExtractErr())
	})
}
