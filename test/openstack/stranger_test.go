package openstack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/test/operator"
)

// strangerTests are about resources of other clients under the name of ours. They are never
// adopted, whatever the cloud answers, and are kept when the object is deleted.
var strangerTests = map[string]func(*testing.T){
	"Project and User of a stranger, and no answer": testStrangersName,
	"Network of a stranger, and an intent":          testStrangersNetwork,
	"RouterInterface of a mended Secret":            testMendedSecret,
	"credentials that change with finalizers":       testRotatedWithFinalizer,
}

// TestRefusedIsForgotten: a resource that a user creates after a refused attempt is not the
// result of this attempt, even for an operator without a record of the refusal.
func TestRefusedIsForgotten(t *testing.T) {
	first := operator.Exec(t, "--packs", "openstack")
	w := newWorld(t)
	w.apply(managed("Network", "outside", "{external: true}"),
		managed("Subnet", "sub", "{networkRef: outside, ipVersion: 4, cidr: 10.5.0.0/24}"))
	w.available("Subnet", "sub")
	for _, resource := range []string{"networks", "floatingips"} {
		w.cloud.AddFault(emulator.Fault{Method: "POST", Resource: resource, Times: -1, Status: http.StatusConflict})
	}
	w.apply(managed("Network", "it", "{}"), managed("FloatingIP", "it", "{floatingNetworkRef: outside}"))
	w.fails("Network", "it", "TransientError")
	w.fails("FloatingIP", "it", "TransientError")
	// The result of an interrupted attempt can't be distinguished from a resource of a user:
	// there must be none.
	w.setSecret("clouds: {}")
	w.fails("Network", "it", "InvalidConfiguration")
	w.fails("FloatingIP", "it", "InvalidConfiguration")
	first.Kill()
	w.cloud.ClearFaults()
	w.setSecret(w.cloud.CloudsYAML())
	network := w.post(w.admin(), "networks", `{"network":{"name":"it"}}`)
	address := w.post(w.admin(), "floatingips",
		fmt.Sprintf(`{"floatingip":{"floating_network_id":%q}}`, w.id("Network", "outside")))
	w.delete("Network", "it")
	w.delete("FloatingIP", "it")
	operator.Exec(t, "--packs", "openstack")
	w.gone("Network", "it")
	w.gone("FloatingIP", "it")
	if !w.there("network/networks", network) || !w.there("network/floatingips", address) {
		t.Error("what a person made was deleted")
	}
	w.deleteOutside("network/networks", network)
	w.deleteOutside("network/floatingips", address)
	w.tidyUp()
}

// unanswered has the first request to make something come to nothing.
func (w *world) unanswered(resource string) {
	w.t.Helper()
	w.cloud.AddFault(emulator.Fault{
		Service: "identity", Method: http.MethodPost, Resource: resource, Status: http.StatusServiceUnavailable, Times: 1,
	})
}

func testStrangersName(t *testing.T) {
	for kind, c := range map[string]struct{ one, many string }{
		"Project": {"project", "projects"}, "User": {"user", "users"},
	} {
		w := newWorld(t)
		keystone := w.client((*openstack.Scope).Identity)
		id := w.post(keystone, c.many, fmt.Sprintf(`{%q:{"name":"theirs","description":"precious"}}`, c.one))
		w.unanswered(c.many)
		w.apply(managed(kind, "it", "{name: theirs}"))
		w.fails(kind, "it", "InvalidConfiguration")
		w.delete(kind, "it")
		w.gone(kind, "it")
		var read map[string]struct{ Description string }
		err := kit.Call(t.Context(), keystone, http.MethodGet, keystone.ServiceURL(c.many, id), nil, &read)
		if err != nil || read[c.one].Description != "precious" {
			t.Errorf("the stranger's %s is %+v, %v", kind, read, err)
		}
	}
}

// testStrangersNetwork applies manifests with a creation intent: from a backup, or to get a
// resource of another tenant.
func testStrangersNetwork(t *testing.T) {
	w := newWorld(t)
	neutron := w.admin()
	id := w.post(neutron, "networks", `{"network":{"name":"theirs"}}`)
	w.apply(`
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Network
metadata:
  name: thief
  annotations:
    openstack.k-orc.cloud/creation-intent: '{"time":"2000-01-01T00:00:00Z","name":"theirs"}'
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack-admin}, resource: {name: theirs}}
`)
	w.available("Network", "thief")
	if w.id("Network", "thief") == id {
		t.Error("an annotation was enough to take a network over")
	}
}

// testMendedSecret: a RouterInterface has the credentials of its Router, whose Secret it does
// not name.
func testMendedSecret(t *testing.T) {
	w := newWorld(t)
	w.apply(connected...)
	w.available("Router", "router")
	w.available("Subnet", "sub")
	w.setSecret("clouds: {}")
	w.apply(between(""))
	w.fails("RouterInterface", "it", "TransientError")
	w.setSecret(w.cloud.CloudsYAML())
	w.available("RouterInterface", "it")
}

// testRotatedWithFinalizer: a user adds a finalizer to the Secret in the request that changes
// the content.
func testRotatedWithFinalizer(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Network", "before", "{}"))
	w.available("Network", "before")
	other := operator.Cloud(t, emulator.Options{})
	patch, err := json.Marshal(map[string]any{
		"metadata":   map[string]any{"finalizers": append(w.get("Secret", "cloud").GetFinalizers(), "elsewhere.example/theirs")},
		"stringData": map[string]string{"clouds.yaml": other.CloudsYAML()},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.edit("Secret", "cloud", string(patch))
	w.apply(managed("Network", "after", "{}"))
	w.available("Network", "after")
	if n := len(other.Inventory()["network/networks"]); n == 0 {
		t.Error("the new credentials were not used")
	}
	w.delete("Network", "after")
	w.gone("Network", "after")
	w.edit("Secret", "cloud", `{"stringData":{"clouds.yaml":`+quoted(w.cloud.CloudsYAML())+`},"metadata":{"finalizers":null}}`)
}

func quoted(text string) string {
	q, _ := json.Marshal(text)
	return string(q)
}
