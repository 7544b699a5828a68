package openstack_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// Objects that servers refer to.
var (
	flavor = managed("Flavor", "flavor", "{ram: 64, vcpus: 1, disk: 1}")
	net    = managed("Network", "net", "{}")
	sub    = managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}")
	cirros = imported("Image", "cirros", fmt.Sprintf(byName, "cirros")) // Every cloud has this network.
	boot   = cirros + bootable("boot")
)

func plug(name string) string {
	return managed("Port", name, "{networkRef: net, addresses: [{subnetRef: sub}]}")
}

func blank(name string) string { return managed("Volume", name, "{size: 1}") }

// bootable is a volume that servers can start from.
func bootable(name string) string { return managed("Volume", name, "{size: 1, imageRef: cirros}") }

// fromBoot is a resource that starts from the disk of that name.
func fromBoot(volume, more string) string {
	return fmt.Sprintf("{flavorRef: flavor, bootVolume: {volumeRef: %s}, %s}", volume, more)
}

// machines are servers. full boots from a volume, since a server can't have both an image and a
// boot volume.
var machines = []scenario{{
	kind: "Server", collection: "compute/servers",
	minimal: "{flavorRef: flavor, imageRef: image, ports: []}",
	needs: []string{
		flavor, net, sub, plug("port"), cirros, bootable("boot"), blank("disk"), managed("Image", "image", images[0].minimal),
		managed("KeyPair", "key", fmt.Sprintf("{publicKey: %q}", publicKey)),
		managed("ServerGroup", "rule", "{policy: affinity}"),
	},
	full: `{name: other, flavorRef: flavor, bootVolume: {volumeRef: boot, tag: root}, ports: [{portRef: port}],
  volumes: [{volumeRef: disk, device: /dev/vdx}], availabilityZone: nova, keypairRef: key, tags: [b, a],
  metadata: [{key: k, value: v}], configDrive: true, schedulerHints: {serverGroupRef: rule, targetCell: c,
  buildNearHostIP: 10.0.0.0/8, differentCell: [d], query: "[]", additionalProperties: {p: q}}}`,
}}

var serverTests = map[string]func(*testing.T){
	"Server from an image":                  testFromImage,
	"Server whose ports and volumes change": testAttach,
	"Server that others attach to":          testForeign,
	"Server that can't be made":             testServerFails,
	"Server whose answer is lost":           testServerMarked,
	"Server with user data":                 testUserData,
	"Server outlives what it was made with": testOnce,
	"Server names are no patterns":          testServerPattern,
	"Server fields that can't be changed":   testServerImmutable,
	"Port on the host of a server":          testPortHost,
}

// testFromImage: a server waits for its image, reports it, and holds it. The image of a volume
// is not held: its content was copied.
func testFromImage(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Volume", "copy", "{size: 1, imageRef: copied}"), flavor,
		managed("Server", "server", "{flavorRef: flavor, imageRef: image, ports: []}"))
	w.has("Server", "server", "Progressing", waitingFor("Image/image to be created"))
	w.has("Volume", "copy", "Progressing", waitingFor("Image/copied to be created"))
	w.apply(managed("Image", "image", images[0].minimal), managed("Image", "copied", images[0].minimal))
	w.available("Server", "server")
	w.available("Volume", "copy")
	w.reports("Server", "server", map[string]any{"imageID": w.id("Image", "image"), "volumes": nil})
	w.reports("Volume", "copy", map[string]any{"imageID": w.id("Image", "copied"), "bootable": true})
	w.held("Image", "image", "image", "server")
	w.delete("Image", "copied")
	w.gone("Image", "copied")
	w.edit("Volume", "copy", `{"spec":{"resource":{"description":"d"}}}`)
	w.available("Volume", "copy")
	w.delete("Image", "image")
	w.says("Image", "image", "Waiting for Server/server to be deleted: it holds finalizer openstack.k-orc.cloud/server")
}

// attached waits until the status of a Volume shows its server: no comparison is due for
// minutes.
func (w *world) attached(name, server string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		resource, _ := w.get("Volume", name).Object["status"].(map[string]any)["resource"].(map[string]any)
		list, _ := resource["attachments"].([]any)
		var got string
		if len(list) > 0 {
			got, _ = list[0].(map[string]any)["serverID"].(string)
		}
		if got != server {
			return fmt.Errorf("Volume/%s is attached to %q, not %q", name, got, server)
		}
		return nil
	})
}

// plugged waits until the status of a Port shows its server.
func (w *world) plugged(name, server string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		resource, _ := w.get("Port", name).Object["status"].(map[string]any)["resource"].(map[string]any)
		if got, _ := resource["deviceID"].(string); got != server {
			return fmt.Errorf("Port/%s is plugged into %q, not %q", name, got, server)
		}
		return nil
	})
}

// testAttach changes the attachments. Ports and volumes show them at once.
func testAttach(t *testing.T) {
	w := newWorld(t)
	w.apply(flavor, net, sub, boot, plug("one"), plug("two"), blank("first"), blank("last"),
		managed("Server", "server", fromBoot("boot", "ports: [{portRef: one}], volumes: [{volumeRef: first}]")))
	w.available("Server", "server")
	id := w.id("Server", "server")
	w.plugged("one", id)
	w.attached("first", id)
	w.edit("Server", "server", `{"spec":{"resource":{"ports":[{"portRef":"two"}],"volumes":[{"volumeRef":"last"}]}}}`)
	w.available("Server", "server")
	w.plugged("two", id)
	w.attached("last", id)
	w.plugged("one", "")
	w.attached("first", "")
	w.attached("boot", id)
	disks := []string{w.id("Volume", "boot"), w.id("Volume", "last")}
	slices.Sort(disks)
	w.reports("Server", "server", map[string]any{
		"volumes": []any{map[string]any{"id": disks[0]}, map[string]any{"id": disks[1]}},
	})
	w.held("Port", "one", "port")
	w.held("Volume", "first", "volume")
	w.delete("Port", "one")
	w.delete("Volume", "first")
	w.gone("Port", "one")
	w.gone("Volume", "first")
	if w.id("Server", "server") != id {
		t.Error("another server")
	}
}

// testForeign has a person attach a disk, which stays.
func testForeign(t *testing.T) {
	w := newWorld(t)
	w.apply(flavor, boot, blank("ours"),
		manifest("Server", "server", "resyncPeriod: 1s, resource: "+fromBoot("boot", "ports: [], volumes: [{volumeRef: ours}]")))
	w.available("Server", "server")
	nova, cinder := w.client((*openstack.Scope).Compute), w.client((*openstack.Scope).Volume)
	theirs := w.post(cinder, "volumes", `{"volume":{"name":"theirs","size":1}}`)
	testenv.Eventually(t, func() error { // The server is being built.
		address := nova.ServiceURL("servers", w.id("Server", "server"), "os-volume_attachments")
		return kit.Call(t.Context(), nova, http.MethodPost, address,
			map[string]any{"volumeAttachment": map[string]any{"volumeId": theirs}}, nil)
	})
	w.edit("Server", "server", `{"spec":{"resource":{"volumes":null,"tags":["t"]}}}`)
	w.attached("ours", "")
	w.reports("Server", "server", map[string]any{"tags": []any{"t"}})
	testenv.Eventually(t, func() error {
		status := w.get("Server", "server").Object["status"].(map[string]any)["resource"].(map[string]any)
		if text := fmt.Sprint(status["volumes"]); !strings.Contains(text, theirs) || strings.Contains(text, w.id("Volume", "ours")) {
			return errors.New(text)
		}
		return nil
	})
	w.available("Server", "server")
}

// testServerFails requests a resource that no host has.
func testServerFails(t *testing.T) {
	w := newWorld(t)
	w.apply(boot, managed("Flavor", "flavor",
		`{ram: 64, vcpus: 1, disk: 1, extraSpecs: [{name: "resources:CUSTOM_DREAM", value: "1"}]}`),
		managed("Server", "server", fromBoot("boot", "ports: []")))
	failed := want{"False", "UnrecoverableError", "No valid host was found. "}
	w.has("Server", "server", "Progressing", failed)
	w.has("Server", "server", "Available", failed)
	calls := w.calls("compute")
	w.settles()
	if now := w.calls("compute"); now != calls {
		t.Errorf("%d calls more", now-calls)
	}
}

// testServerMarked loses the answers of two that are called the same.
func testServerMarked(t *testing.T) {
	w := newWorld(t)
	n := w.neighbour()
	w.apply(flavor, boot, bootable("second"))
	n.apply(imported("Flavor", "flavor", "{filter: {name: flavor}}"), imported("Volume", "boot", "{filter: {name: second}}"))
	w.available("Volume", "boot", "second")
	n.available("Volume", "boot")
	w.cloud.AddFault(emulator.Fault{
		Service: "compute", Method: "POST", Resource: "servers", Reset: emulator.AfterExecution, Times: 2,
	})
	for _, x := range []*world{w, n} {
		x.apply(managed("Server", "server", fromBoot("boot", "ports: []")))
	}
	w.available("Server", "server")
	n.available("Server", "server")
	if ids := w.inCloud("compute/servers", "server"); len(ids) != 2 || w.id("Server", "server") == n.id("Server", "server") {
		t.Errorf("in the cloud: %v", ids)
	}
	w.reports("Server", "server", map[string]any{"metadata": nil}) // The mark is ours.
}

func testUserData(t *testing.T) {
	w := newWorld(t)
	w.apply(flavor, boot, managed("Server", "server", fromBoot("boot", "ports: [], userData: {secretRef: start}")))
	w.has("Server", "server", "Progressing", waitingFor("Secret/start to be created"))
	secret := w.secret("start", "")
	w.create(secret)
	w.fails("Server", "server", "InvalidConfiguration") // The Secret has no key value.
	secret.Data = map[string][]byte{"value": []byte("#!/bin/sh")}
	if err := w.c.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.available("Server", "server")
	var read map[string]map[string]any
	nova := w.client((*openstack.Scope).Compute)
	address := nova.ServiceURL("servers", w.id("Server", "server"))
	if err := kit.Call(t.Context(), nova, http.MethodGet, address, nil, &read); err != nil {
		t.Fatal(err)
	}
	if got := read["server"]["OS-EXT-SRV-ATTR:user_data"]; got != base64.StdEncoding.EncodeToString([]byte("#!/bin/sh")) {
		t.Errorf("user data %v", got)
	}
}

// testOnce deletes the objects that a server needs at creation only, and then the server in the
// cloud: only now the missing objects matter.
func testOnce(t *testing.T) {
	w := newWorld(t)
	key := managed("KeyPair", "key", fmt.Sprintf("{publicKey: %q}", publicKey))
	w.apply(flavor, boot, key, manifest("Server", "server",
		"resyncPeriod: 1s, resource: "+fromBoot("boot", "ports: [], keypairRef: key")))
	w.available("Server", "server")
	w.delete("KeyPair", "key")
	w.gone("KeyPair", "key")
	w.edit("Server", "server", `{"spec":{"resource":{"tags":["t"]}}}`)
	w.available("Server", "server")
	id, nova := w.id("Server", "server"), w.client((*openstack.Scope).Compute)
	if err := kit.Call(t.Context(), nova, http.MethodDelete, nova.ServiceURL("servers", id), nil, nil); err != nil {
		t.Fatal(err)
	}
	w.has("Server", "server", "Progressing", waitingFor("KeyPair/key to be created"))
	w.apply(key)
	w.becomes("Server", "server", id)
	w.available("Server", "server")
}

func testServerPattern(t *testing.T) {
	w := newWorld(t)
	w.apply(flavor, boot, bootable("second"), managed("Server", "trap", fromBoot("second", "ports: [], name: a-b-c")),
		managed("Server", "server", fromBoot("boot", "ports: [], name: a.b")))
	w.available("Server", "trap", "server")
	w.apply(imported("Server", "import", "{filter: {name: a.b, availabilityZone: nova, tags: []}}"))
	w.available("Server", "import")
	if w.id("Server", "import") != w.id("Server", "server") {
		t.Error("another one")
	}
	w.apply(imported("Server", "elsewhere", "{filter: {name: a.b, availabilityZone: mars}}"))
	w.has("Server", "elsewhere", "Progressing",
		want{"True", "Progressing", "Waiting for OpenStack resource to be created externally"})
}

func testServerImmutable(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Server", "server", fromBoot("boot", "ports: [], availabilityZone: nova")))
	for patch, message := range map[string]string{
		`{"flavorRef":"other"}`:         "flavorRef is immutable",
		`{"availabilityZone":"mars"}`:   "availabilityZone is immutable",
		`{"bootVolume":null}`:           "either imageRef or bootVolume must be specified",
		`{"imageRef":"i"}`:              "imageRef and bootVolume are mutually exclusive",
		`{"keypairRef":"k"}`:            "can't be added or removed: immutable",
		`{"availabilityZone":null}`:     "can't be added or removed: immutable",
		`{"ports":[{}]}`:                "should have at least 1 properties",
		`{"tags":["` + long(81) + `"]}`: "Too long: may not be more than 80",
	} {
		w.refuses("Server", "server", patch, message)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

// testPortHost has a port be where a server is.
func testPortHost(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Port", "beside", "{networkRef: net, hostID: {serverRef: server}}"), net)
	w.has("Port", "beside", "Progressing", waitingFor("Server/server to be created"))
	w.apply(flavor, boot, managed("Server", "server", fromBoot("boot", "ports: []")))
	w.available("Port", "beside")
	w.reports("Port", "beside", map[string]any{"hostID": "loopback"})
	w.delete("Server", "server")
	w.gone("Server", "server")
	w.edit("Port", "beside", `{"spec":{"resource":{"description":"d"}}}`)
	w.available("Port", "beside")
}

// TestServersTogether counts the calls while the cloud builds servers.
func TestServersTogether(t *testing.T) {
	operator.Start(t, only)
	cloud := operator.Cloud(t, emulator.Options{BuildTime: 3 * time.Second})
	w := worldOf(t, cloud.CloudsYAML(), cloud)
	t.Cleanup(w.tidyUp)
	const n, workers = 20, 8
	for range n / workers { // Servers that are created one by one are read one by one.
		cloud.AddFault(emulator.Fault{Service: "compute", Method: "POST", Resource: "servers", Together: workers})
	}
	all := []string{flavor, cirros}
	var names []string
	for i := range n {
		name := fmt.Sprintf("server%d", i)
		names = append(names, name)
		all = append(all, bootable(name), managed("Server", name, fromBoot(name, "ports: []")))
	}
	w.apply(all...)
	w.available("Server", names...)
	var single, lists int
	for call, times := range cloud.Calls() {
		switch call.String() {
		case "GET compute/servers":
			single += times
		case "GET compute/servers/detail":
			lists += times
		}
	}
	t.Logf("%d servers that took 3 s: %d single looks, %d lists", n, single, lists)
	if single+lists > 3*n { // One by one, there would be four calls each; on a busy machine there are two.
		t.Errorf("%d single looks, %d lists for %d servers", single, lists, n)
	}
}
