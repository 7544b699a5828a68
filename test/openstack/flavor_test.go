package openstack_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/test/operator"
)

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDpT/cMsQyZrFfGcWcTzqvVqQy2rXU5tXZxk8mJmXv3z scenario"

// sizes are the kinds of the compute service that servers are made with.
var sizes = []scenario{
	{
		kind: "Flavor", collection: "compute/flavors",
		minimal: "{ram: 64, vcpus: 1, disk: 1}",
		full: `{name: other, id: chosen one, description: text, ram: 64, vcpus: 2, disk: 0, swap: 8, ephemeral: 3,
  isPublic: false, extraSpecs: [{name: "hw:cpu_policy", value: shared}, {name: a b, value: c}]}`,
	},
	{
		kind: "KeyPair", collection: "compute/keypairs",
		minimal: fmt.Sprintf("{publicKey: %q}", publicKey),
		full:    fmt.Sprintf("{name: an other, type: ssh, publicKey: %q}", publicKey),
	},
}

var computeTests = map[string]func(*testing.T){
	"Flavor id is chosen":                testChosenID,
	"Flavor extra specs differ":          testExtraSpecs,
	"KeyPair name is its id":             testKeyPairID,
	"KeyPair of one name in two clouds":  testKeyPairTwice,
	"KeyPair of another is not taken":    testKeyPairTaken,
	"KeyPair can't be silently the same": testKeyPairImmutable,
}

// specs are extra specs of a status, from names and values in turn.
func specs(pairs ...string) []any {
	var all []any
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, map[string]any{"name": pairs[i], "value": pairs[i+1]})
	}
	return all
}

func testChosenID(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Flavor", "it", "{id: m1.mine, ram: 64, vcpus: 1, disk: 1}"))
	w.available("Flavor", "it")
	if id := w.id("Flavor", "it"); id != "m1.mine" {
		t.Errorf("id %s", id)
	}
	w.apply(managed("Flavor", "same", "{id: m1.mine, ram: 64, vcpus: 1, disk: 1}"))
	w.fails("Flavor", "same", "InvalidConfiguration")
	// In another cloud the id is free.
	elsewhere := operator.Cloud(t, emulator.Options{})
	other := &world{t: t, c: w.c, ns: w.ns, clouds: elsewhere.CloudsYAML(), cloud: elsewhere}
	w.create(w.secret("elsewhere", other.cloud.CloudsYAML()))
	w.apply(strings.ReplaceAll(managed("Flavor", "there", "{id: m1.mine, ram: 64, vcpus: 1, disk: 1}"),
		"secretName: cloud", "secretName: elsewhere"))
	w.available("Flavor", "there")
	w.delete("Flavor", "there")
	w.gone("Flavor", "there")
	other.empty()
	if len(w.inCloud("compute/flavors", "it")) != 1 {
		t.Error("the flavor of the first cloud is gone")
	}
}

// testExtraSpecs changes one extra spec and keeps another.
func testExtraSpecs(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Flavor", "it", "{ram: 64, vcpus: 1, disk: 1, extraSpecs: [{name: a, value: '1'}, {name: b, value: '2'}]}"))
	w.available("Flavor", "it")
	w.edit("Flavor", "it", `{"spec":{"resource":{"extraSpecs":[{"name":"a","value":"1"},{"name":"c","value":"3"}]}}}`)
	w.available("Flavor", "it")
	w.reports("Flavor", "it", map[string]any{"extraSpecs": specs("a", "1", "c", "3")})
}

func testKeyPairID(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("KeyPair", "it", fmt.Sprintf("{name: my key, publicKey: %q}", publicKey)))
	w.available("KeyPair", "it")
	if id := w.id("KeyPair", "it"); id != "my key" {
		t.Errorf("id %s", id)
	}
	w.apply(imported("KeyPair", "theirs", "{id: my key}"))
	w.available("KeyPair", "theirs")
	w.reports("KeyPair", "theirs", map[string]any{"publicKey": publicKey})
}

// testKeyPairTwice has the same name, and so the same id, mean two key pairs.
func testKeyPairTwice(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	for _, x := range []*world{w, other} {
		x.apply(managed("KeyPair", "it", fmt.Sprintf("{publicKey: %q}", publicKey)))
		x.available("KeyPair", "it")
	}
	other.delete("KeyPair", "it")
	other.gone("KeyPair", "it")
	if len(w.inCloud("compute/keypairs", "it")) != 1 || len(other.inCloud("compute/keypairs", "it")) != 0 {
		t.Error("the wrong one was deleted")
	}
}

// testKeyPairTaken: an existing key pair is refused, and not changed.
func testKeyPairTaken(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("KeyPair", "it", fmt.Sprintf("{publicKey: %q}", publicKey)))
	w.available("KeyPair", "it")
	n := w.neighbour()
	n.apply(managed("KeyPair", "it", fmt.Sprintf("{publicKey: %q}", publicKey)))
	n.fails("KeyPair", "it", "InvalidConfiguration")
	n.delete("KeyPair", "it")
	n.gone("KeyPair", "it")
	if len(w.inCloud("compute/keypairs", "it")) != 1 {
		t.Error("another's was deleted")
	}
}

func testKeyPairImmutable(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("KeyPair", "it", fmt.Sprintf("{publicKey: %q}", publicKey)))
	w.available("KeyPair", "it")
	err := w.c.Patch(t.Context(), w.get("KeyPair", "it"),
		client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"resource":{"publicKey":"ssh-ed25519 AAAA"}}}`)))
	if err == nil || !strings.Contains(err.Error(), "KeyPairResourceSpec is immutable") {
		t.Errorf("changed: %v", err)
	}
}
