package contract_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imageimport"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

func makeImage(t *testing.T, c *gophercloud.ServiceClient, opts images.CreateOpts) *images.Image {
	t.Helper()
	opts.DiskFormat, opts.ContainerFormat = "raw", "bare"
	made := must[*images.Image](t)(images.Create(t.Context(), c, opts).Extract())
	later(t, "image", func(ctx context.Context) error {
		_, _ = images.Update(ctx, c, made.ID, images.UpdateOpts{images.ReplaceImageProtected{NewProtected: false}}).Extract()
		return images.Delete(ctx, c, made.ID).ExtractErr()
	})
	return made
}

func TestImage(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Image)
		made := makeImage(t, c, images.CreateOpts{
			Name: unique("image"), Tags: []string{"a"}, Properties: map[string]string{"kinship-uid": "1", "hw_disk_bus": "virtio"},
		})
		if made.Status != images.ImageStatusQueued || made.Visibility != images.ImageVisibilityShared || made.Protected ||
			made.Properties["kinship-uid"] != "1" || !cmp.Equal([]string{"a"}, made.Tags) || made.Owner != w.member.ProjectID {
			t.Errorf("a new image: %+v", made)
		}
		if read := upload(t, c, made.ID); read.SizeBytes != 2048 || read.Checksum == "" {
			t.Errorf("an active image: %+v", read)
		}
		again := imagedata.Upload(ctx, c, made.ID, bytes.NewReader(make([]byte, 2048))).ExtractErr()
		refused(t, again, http.StatusConflict, "", openstack.Busy)
		changed := must[*images.Image](t)(images.Update(ctx, c, made.ID, images.UpdateOpts{
			images.ReplaceImageName{NewName: "new"},
			images.ReplaceImageProtected{NewProtected: true},
			images.ReplaceImageTags{NewTags: []string{"b"}},
			images.UpdateVisibility{Visibility: images.ImageVisibilityPrivate},
		}).Extract())
		if changed.Name != "new" || !changed.Protected || changed.Tags[0] != "b" || changed.Visibility != "private" {
			t.Errorf("after the update: %+v", changed)
		}
		refused(t, images.Delete(ctx, c, made.ID).ExtractErr(), http.StatusForbidden, "", openstack.Forbidden)
		_, err := images.Update(ctx, c, made.ID, images.UpdateOpts{images.UpdateVisibility{Visibility: "public"}}).Extract()
		refused(t, err, http.StatusForbidden, "", openstack.Forbidden)
		must[*images.Image](t)(images.Update(ctx, c, made.ID, images.UpdateOpts{
			images.ReplaceImageName{NewName: made.Name}, images.ReplaceImageProtected{NewProtected: false},
		}).Extract())
		findImage(t, c, made.Name)
		if err := images.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = images.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
		gone(t, images.Delete(ctx, c, made.ID).ExtractErr())
	})
}

// upload fills an image and waits until it is active.
func upload(t *testing.T, c *gophercloud.ServiceClient, id string) *images.Image {
	t.Helper()
	if err := imagedata.Upload(t.Context(), c, id, bytes.NewReader(make([]byte, 2048))).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	var read *images.Image
	soon(t, "the image is active", func() (bool, error) {
		var err error
		read, err = images.Get(t.Context(), c, id).Extract()
		return err == nil && read.Status == images.ImageStatusActive, err
	})
	return read
}

func findImage(t *testing.T, c *gophercloud.ServiceClient, name string) {
	t.Helper()
	for reason, opts := range map[string]images.ListOpts{
		"name": {Name: name}, "tag": {Tags: []string{"b"}, Name: name}, "visibility": {Visibility: "private", Name: name},
	} {
		pages, err := images.List(c, opts).AllPages(t.Context())
		if found := must[[]images.Image](t)(must2(images.ExtractImages(pages))(err)); len(found) != 1 {
			t.Errorf("found %d by %s", len(found), reason)
		}
	}
}

func TestImageByProperty(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Image)
		marker := unique("marker")
		made := makeImage(t, c, images.CreateOpts{Name: unique("image"), Properties: map[string]string{"kinship_uid": marker}})
		var body struct {
			Images []struct {
				ID string `json:"id"`
			} `json:"images"`
		}
		if err := send(ctx, c, http.MethodGet, c.ServiceURL("images")+"?kinship_uid="+marker, nil, &body); err != nil {
			t.Fatal(err)
		}
		if len(body.Images) != 1 || body.Images[0].ID != made.ID {
			t.Errorf("found by the property: %v", body.Images)
		}
	})
}

// TestImageProperties: any name is allowed, even no name.
func TestImageProperties(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Image)
		made := makeImage(t, c, images.CreateOpts{Name: unique("image"), Properties: map[string]string{"": "x"}})
		if made.Properties[""] != "x" {
			t.Errorf("a new image: %+v", made)
		}
		put := func(key string) error {
			_, err := images.Update(ctx, c, made.ID, images.UpdateOpts{
				images.UpdateImageProperty{Op: images.AddOp, Name: key, Value: "y"},
			}).Extract()
			return err
		}
		if err := put(""); err != nil {
			t.Error(err)
		}
		refused(t, put("a/b"), http.StatusBadRequest, "", openstack.Invalid)
		refused(t, put("status"), http.StatusForbidden, "", openstack.Forbidden)
		_, err := images.Create(ctx, c, images.CreateOpts{
			Name: unique("image"), Properties: map[string]string{strings.Repeat("a", 256): "x"},
		}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
		_, err = images.Create(ctx, c, images.CreateOpts{Name: unique("image"), ID: "x"}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
	})
}

func TestImageRefused(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Image)
		_, err := images.Create(ctx, c, images.CreateOpts{Name: "x", DiskFormat: "bogus"}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
		_, err = images.Create(ctx, c, images.CreateOpts{Name: "x", Visibility: new(images.ImageVisibilityPublic)}).Extract()
		refused(t, err, http.StatusForbidden, "", openstack.Forbidden)
		made := makeImage(t, c, images.CreateOpts{Name: unique("image")})
		err = imageimport.Create(ctx, c, made.ID, imageimport.CreateOpts{
			Name: imageimport.WebDownloadMethod, URI: "ftp://127.0.0.1/x",
		}).ExtractErr()
		refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
		for _, path := range []string{"status", "size", "id"} {
			_, err := images.Update(ctx, c, made.ID, images.UpdateOpts{
				images.UpdateImageProperty{Op: images.ReplaceOp, Name: path, Value: "x"},
			}).Extract()
			refused(t, err, http.StatusForbidden, "", openstack.Forbidden)
		}
	})
}

func TestImagePages(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Image)
		name := unique("pages")
		for range 3 {
			makeImage(t, c, images.CreateOpts{Name: name})
		}
		pages, err := images.List(c, images.ListOpts{Name: name, Limit: 1}).AllPages(ctx)
		if found := must[[]images.Image](t)(must2(images.ExtractImages(pages))(err)); len(found) != 3 {
			t.Errorf("found %d in pages of one", len(found))
		}
	})
}
