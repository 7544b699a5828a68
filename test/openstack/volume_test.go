package openstack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

// volumes are the kinds of the volume service.
var volumes = []scenario{
	{
		kind: "VolumeType", collection: "volume/types", minimal: "{}",
		full: `{name: other, description: text, isPublic: false, extraSpecs: [{name: b, value: "2"}, {name: a, value: "1"}]}`,
	},
	{
		kind: "Volume", collection: "volume/volumes", minimal: "{size: 1}",
		needs: []string{managed("VolumeType", "type", "{}")},
		full: `{name: other, description: text, size: 2, volumeTypeRef: type, availabilityZone: nova,
  metadata: [{name: b, value: "2"}, {name: a, value: "1"}]}`,
	},
}

var volumeTests = map[string]func(*testing.T){
	"VolumeType with other extra specs":        testTypeSpecs,
	"Volume whose answer is lost":              testMarked,
	"Volume that is not taken for another's":   testUnmarked,
	"Volume that fails":                        testVolumeFails,
	"Volume fields that can't be changed":      testVolumeImmutable,
	"Volume filters that a cloud doesn't know": testVolumeFilter,
}

// post makes something as a person would, and returns its id.
func (w *world) post(c *gophercloud.ServiceClient, collection, body string) string {
	w.t.Helper()
	var answer map[string]struct {
		ID string `json:"id"`
	}
	err := kit.Call(w.t.Context(), c, http.MethodPost, c.ServiceURL(collection), json.RawMessage(body), &answer)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, made := range answer {
		return made.ID
	}
	return ""
}

// service chooses a client.
type service = func(*openstack.Scope, context.Context) (*gophercloud.ServiceClient, error)

func testTypeSpecs(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("VolumeType", "type", `{extraSpecs: [{name: "a:b", value: "1"}, {name: c, value: "2"}]}`))
	w.available("VolumeType", "type")
	w.edit("VolumeType", "type", `{"spec":{"resource":{"extraSpecs":[{"name":"c","value":"3"},{"name":"d","value":"4"}]}}}`)
	w.available("VolumeType", "type")
	w.reports("VolumeType", "type", map[string]any{"extraSpecs": []any{
		map[string]any{"name": "c", "value": "3"}, map[string]any{"name": "d", "value": "4"},
	}})
	var read map[string]map[string]any
	cinder := w.client((*openstack.Scope).Volume)
	address := cinder.ServiceURL("types", w.id("VolumeType", "type"))
	if err := kit.Call(t.Context(), cinder, http.MethodGet, address, nil, &read); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"c": "3", "d": "4"}
	if diff := cmp.Diff(want, read["volume_type"]["extra_specs"]); diff != "" {
		t.Errorf("in the cloud (-want +got):\n%s", diff)
	}
	w.apply(managed("Volume", "volume", "{size: 1, volumeTypeRef: type}"))
	w.available("Volume", "volume")
	w.edit("VolumeType", "type", `{"spec":{"resource":{"extraSpecs":null}}}`)
	w.fails("VolumeType", "type", "TransientError") // The volume is in use.
	w.delete("Volume", "volume")
	w.available("VolumeType", "type")
}

// testMarked: a volume is created whose ID never arrives, in two namespaces at once: each
// object finds its own volume by the UID in the mark.
func testMarked(t *testing.T) {
	w := newWorld(t)
	n := w.neighbour()
	w.cloud.AddFault(emulator.Fault{
		Service: "volume", Method: "POST", Resource: "volumes", Reset: emulator.AfterExecution, Times: 2,
	})
	for _, x := range []*world{w, n} {
		x.apply(managed("Volume", "volume", "{size: 1}"))
	}
	w.available("Volume", "volume")
	n.available("Volume", "volume")
	if ids := w.inCloud("volume/volumes", "volume"); len(ids) != 2 || w.id("Volume", "volume") == n.id("Volume", "volume") {
		t.Errorf("in the cloud: %v", ids)
	}
	w.reports("Volume", "volume", map[string]any{"metadata": nil}) // The mark is ours.
}

// testUnmarked: an attempt fails without an answer while another client has just created a
// volume of the same name.
func testUnmarked(t *testing.T) {
	w := newWorld(t)
	theirs := w.post(w.client((*openstack.Scope).Volume), "volumes", `{"volume":{"name":"theirs","size":1}}`)
	w.cloud.AddFault(emulator.Fault{Service: "volume", Method: "POST", Resource: "volumes", Reset: emulator.BeforeExecution})
	w.apply(managed("Volume", "ours", "{name: theirs, size: 1}"))
	w.available("Volume", "ours")
	if w.id("Volume", "ours") == theirs {
		t.Error("it was taken")
	}
}

func testVolumeFails(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("VolumeType", "nowhere", "{extraSpecs: [{name: volume_backend_name, value: nowhere}]}"),
		managed("Volume", "volume", "{size: 1, volumeTypeRef: nowhere}"))
	w.has("Volume", "volume", "Progressing", want{"False", "UnrecoverableError", "OpenStack says that the status is error"})
	w.has("Volume", "volume", "Available", want{"False", "UnrecoverableError", "OpenStack says that the status is error"})
}

func testVolumeImmutable(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Volume", "volume", "{size: 1}"))
	for patch, message := range map[string]string{
		`{"size":2}`:                  "size is immutable",
		`{"availabilityZone":"nova"}`: "volumeTypeRef, availabilityZone, imageRef and metadata can't be added or removed: immutable",
	} {
		w.refuses("Volume", "volume", patch, message)
	}
}

// refuses expects that the API server doesn't take a change of a resource.
func (w *world) refuses(kind, name, patch, message string) {
	w.t.Helper()
	err := w.c.Patch(w.t.Context(), w.get(kind, name),
		client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"resource":%s}}`, patch)))
	if err == nil || !strings.Contains(err.Error(), message) {
		w.t.Errorf("%s: %v, want %q", patch, err, message)
	}
}

func testVolumeFilter(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Volume", "trap", "{size: 1, description: other}"), managed("Volume", "volume", "{size: 2, description: it}"))
	w.available("Volume", "trap", "volume")
	for name, filter := range map[string]string{"by-size": "{size: 2}", "by-description": "{description: it}"} {
		w.apply(imported("Volume", name, "{filter: "+filter+"}"))
		w.available("Volume", name)
		if w.id("Volume", name) != w.id("Volume", "volume") {
			t.Errorf("%s: another one", name)
		}
	}
}
