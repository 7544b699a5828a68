package openstack_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// placeTests are about resources whose credentials change to another place.
var placeTests = map[string]func(*testing.T){
	"credentials of another cloud":                   testOtherCloud,
	"credentials of another cloud with such an id":   testSameID,
	"credentials of another project that see it too": testOtherProject,
}

// testOtherCloud: a resource of one cloud is not created again in another cloud, and does not
// count as deleted because it is missing there.
func testOtherCloud(t *testing.T) {
	w := newWorld(t)
	other := operator.Cloud(t, emulator.Options{})
	w.apply(manifest("Network", "it", "resyncPeriod: 1s, resource: {}"))
	w.available("Network", "it")
	before, id := w.place("Network", "it"), w.id("Network", "it")
	if !strings.HasPrefix(before, "project ") || !strings.HasSuffix(before, w.cloud.URL()+"/identity/v3") {
		t.Errorf("it is in %q", before)
	}
	w.setSecret(other.CloudsYAML())
	w.fails("Network", "it", "InvalidConfiguration")
	w.mentions("Network", "it", "is in "+before+", and the credentials lead to project ")
	w.delete("Network", "it")
	w.fails("Network", "it", "Progressing")
	w.mentions("Network", "it", "is in "+before)
	if n := len(other.Inventory()["network/networks"]); n > 0 {
		t.Errorf("%d networks were made in the other cloud", n)
	}
	if found := w.inCloud("network/networks", "it"); len(found) != 1 || found[0] != id {
		t.Errorf("the cloud has %v, want %s", found, id)
	}
	w.setSecret(w.cloud.CloudsYAML())
	w.gone("Network", "it")
}

// testSameID: a key pair of another cloud is another resource, though its ID is the same.
func testSameID(t *testing.T) {
	w := newWorld(t)
	other := operator.Cloud(t, emulator.Options{})
	w.apply(manifest("KeyPair", "it", fmt.Sprintf("resyncPeriod: 1s, resource: {publicKey: %q}", publicKey)))
	w.available("KeyPair", "it")
	before := w.place("KeyPair", "it")
	if !strings.HasPrefix(before, "user ") {
		t.Errorf("it is in %q", before)
	}
	theirs := &world{t: t, c: w.c, ns: testenv.Namespace(t), clouds: other.CloudsYAML(), cloud: other}
	theirs.create(theirs.secret("cloud", other.CloudsYAML()))
	t.Cleanup(func() { theirs.tidyUp(); theirs.empty() })
	theirs.apply(managed("KeyPair", "it", fmt.Sprintf("{publicKey: %q}", publicKey)))
	theirs.available("KeyPair", "it")
	w.setSecret(other.CloudsYAML())
	w.fails("KeyPair", "it", "InvalidConfiguration")
	w.mentions("KeyPair", "it", "is in "+before)
	w.delete("KeyPair", "it")
	w.fails("KeyPair", "it", "Progressing")
	if found := theirs.inCloud("compute/keypairs", "it"); len(found) != 1 {
		t.Errorf("the other cloud has %v, want the key pair that is not ours", found)
	}
	w.setSecret(w.cloud.CloudsYAML())
	w.gone("KeyPair", "it")
}

// testOtherProject: a resource that the new credentials can still see is the same resource.
func testOtherProject(t *testing.T) {
	w := newWorld(t)
	w.apply(strings.ReplaceAll(managed("Network", "it", "{}"), "openstack-admin", "openstack"))
	w.available("Network", "it")
	before, id := w.place("Network", "it"), w.id("Network", "it")
	w.edit("Network", "it", `{"spec":{"cloudCredentialsRef":{"cloudName":"openstack-admin"}}}`)
	testenv.Eventually(t, func() error {
		if w.place("Network", "it") == before {
			return errors.New("it is still said to be in " + before)
		}
		return nil
	})
	w.available("Network", "it")
	if w.id("Network", "it") != id {
		t.Error("it is another resource now")
	}
}

// place returns where an object's resource is said to be.
func (w *world) place(kind, name string) string {
	w.t.Helper()
	place, _, err := unstructured.NestedString(w.get(kind, name).Object, "status", "place")
	if err != nil {
		w.t.Fatal(err)
	}
	return place
}

// mentions waits until the Progressing condition of an object contains a text.
func (w *world) mentions(kind, name, part string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		if progressing, _ := find(w.get(kind, name), "Progressing"); !strings.Contains(progressing.message, part) {
			return fmt.Errorf("%s/%s says %q, without %q", kind, name, progressing.message, part)
		}
		return nil
	})
}
