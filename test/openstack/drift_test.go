package openstack_test

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// testImmutableDrift has somebody change in the cloud what can't be changed by the spec:
// that is told, and nothing else comes of it; it is told no longer once it is undone.
func testImmutableDrift(w *world) {
	w.t.Helper()
	w.apply(manifest("Network", "it", "resyncPeriod: 1s, resource: {dnsDomain: example.org.}"))
	w.available("Network", "it")
	network, id := w.admin(), w.id("Network", "it")
	change := func(domain string) {
		w.t.Helper()
		body := map[string]any{"network": map[string]any{"dns_domain": domain}}
		if err := kit.Call(w.t.Context(), network, http.MethodPut, network.ServiceURL("networks", id), body, nil); err != nil {
			w.t.Fatal(err)
		}
	}
	change("example.com.")
	w.drifted("Network", "it", `dns_domain is "example.com.", not "example.org."`)
	w.available("Network", "it")
	w.reports("Network", "it", map[string]any{"dnsDomain": "example.com."})
	change("example.org.")
	w.drifted("Network", "it")
	if w.id("Network", "it") != id {
		w.t.Error("it is another resource now")
	}
}

// drifted waits until an object's status.drift lists these fields.
func (w *world) drifted(kind, name string, fields ...string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		drift, _, err := unstructured.NestedStringSlice(w.get(kind, name).Object, "status", "drift")
		if diff := cmp.Diff(fields, drift); diff != "" {
			return errors.Join(err, fmt.Errorf("status.drift of %s/%s (-want +got):\n%s", kind, name, diff))
		}
		return nil
	})
}
