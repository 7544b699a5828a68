package openstack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

// outside is a change by another client that the operator can correct.
type outside struct {
	asked

	// method, path and body are the request; path is below the resource unless it begins with a
	// slash. In a body, <id> means the ID of the resource.
	method, path, body string
}

// changedOutside has a kind of each service, and all fields that are not plain.
var changedOutside = []outside{
	{
		asked: asked{
			kind: "Network", in: "network/networks", one: "network", resource: "{description: text, tags: [a]}",
			has: attrs{"description": "text", "admin_state_up": true, "tags": list{"a"}},
		},
		method: http.MethodPut, body: `{"network":{"description":"theirs","admin_state_up":false}}`,
	},
	{
		asked: asked{
			kind: "SecurityGroup", in: "network/security-groups", one: "security_group", resource: "{}",
			has: attrs{"security_group_rules": list{}},
		},
		method: http.MethodPost, path: "/security-group-rules",
		body: `{"security_group_rule":{"security_group_id":"<id>","direction":"ingress","ethertype":"IPv4"}}`,
	},
	{
		asked: asked{
			kind: "Project", in: "identity/projects", one: "project", resource: "{description: text}",
			has: attrs{"description": "text", "enabled": true},
		},
		method: http.MethodPatch, body: `{"project":{"description":"theirs","enabled":false}}`,
	},
	{
		asked: asked{
			kind: "Flavor", in: "compute/flavors", one: "flavor",
			resource: "{ram: 64, vcpus: 1, disk: 1, extraSpecs: [{name: 'hw:a', value: '1'}]}",
			has:      attrs{"extra_specs": attrs{"hw:a": "1", "hw:theirs": nil}},
		},
		method: http.MethodPost, path: "os-extra_specs", body: `{"extra_specs":{"hw:a":"2","hw:theirs":"3"}}`,
	},
	{
		asked: asked{
			kind: "Server", in: "compute/servers", one: "server", needs: []string{flavor, cirros},
			resource: "{flavorRef: flavor, imageRef: cirros, ports: [], metadata: [{key: k, value: v}]}",
			has:      attrs{"metadata": attrs{"k": "v", "theirs": nil}},
		},
		method: http.MethodPost, path: "metadata", body: `{"metadata":{"k":"other","theirs":"too"}}`,
	},
	{
		asked: asked{
			kind: "Volume", in: "volume/volumes", one: "volume", resource: "{size: 1, description: text}",
			has: attrs{"name": "it", "description": "text"},
		},
		method: http.MethodPut, body: `{"volume":{"name":"theirs","description":"theirs"}}`,
	},
	{
		asked: asked{
			kind: "Image", in: "image/images", resource: strings.TrimSuffix(images[0].minimal, "}") + ", tags: [a]}",
			has: attrs{"tags": list{"a"}},
		},
		method: http.MethodPut, path: "tags/theirs",
	},
	{
		asked: asked{
			kind: "ShareNetwork", in: "share/share_networks", one: "share_network", resource: "{description: text}",
			has: attrs{"description": "text"},
		},
		method: http.MethodPut, body: `{"share_network":{"description":"theirs"}}`,
	},
}

// corrected waits until the next comparison has corrected the change.
func (o *outside) corrected(w *world) {
	w.t.Helper()
	needs := scenario{needs: o.needs}
	needs.prepare(w)
	w.apply(manifest(o.kind, "it", "resyncPeriod: 1s, resource: "+o.resource))
	w.available(o.kind, "it")
	w.cloudHas(&o.asked, o.has)
	id := w.id(o.kind, "it")
	c, address := w.address(o.in, id)
	if o.path != "" {
		address += "/" + o.path
	}
	if path, root := strings.CutPrefix(o.path, "/"); root {
		address = c.ServiceURL(path)
	}
	var body any
	if o.body != "" {
		body = json.RawMessage(strings.ReplaceAll(o.body, "<id>", id))
	}
	if err := kit.Call(w.t.Context(), c, o.method, address, body, nil); err != nil {
		w.t.Fatal(err)
	}
	w.cloudHas(&o.asked, o.has)
	w.available(o.kind, "it")
	if w.id(o.kind, "it") != id {
		w.t.Error("it is another resource now")
	}
}

// goneOutside are kinds of which an import is told to have lost its resource.
var goneOutside = []string{"Network", "Project", "Flavor", "Volume", "Image", "ShareNetwork"}

// importGone deletes an imported resource: the operator does not create it again, and the
// import has a message.
func (s *scenario) importGone(w *world) {
	w.t.Helper()
	s.prepare(w)
	w.apply(managed(s.kind, "source", s.minimal))
	w.available(s.kind, "source")
	id := w.id(s.kind, "source")
	w.apply(manifest(s.kind, "import", fmt.Sprintf("resyncPeriod: 1s, managementPolicy: unmanaged, import: {id: %q}", id)))
	w.available(s.kind, "import")
	w.deleteOutside(s.collection, id)
	deleted := want{"False", "UnrecoverableError", "resource has been deleted from OpenStack"}
	w.has(s.kind, "import", "Progressing", deleted)
	w.has(s.kind, "import", "Available", deleted)
	if w.there(s.collection, id) {
		w.t.Error("it was made again")
	}
}

// others are the tests of changes by other clients, for all kinds but those that only the
// emulator has.
func others(emulated bool) map[string]func(*world) {
	tests := map[string]func(*world){}
	for _, o := range changedOutside {
		if emulated || o.kind != "ShareNetwork" {
			tests[o.kind+" changed outside"] = o.corrected
		}
	}
	for _, s := range slices.Concat(scenarios, more, sizes, images, volumes) {
		if slices.Contains(goneOutside, s.kind) && (emulated || s.kind != "ShareNetwork") {
			tests[s.kind+" external-deletion-import"] = s.importGone
		}
	}
	return tests
}

// TestOthersCoverServices: a service that is new has a test here.
func TestOthersCoverServices(t *testing.T) {
	tests := others(true)
	for _, kind := range goneOutside {
		for _, test := range []string{" changed outside", " external-deletion-import"} {
			if tests[kind+test] == nil {
				t.Errorf("there is no %s%s", kind, test)
			}
		}
	}
}
