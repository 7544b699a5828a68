package openstack_test

import (
	"fmt"
	"net/http"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/condition"
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
	w.has("Network", "it", condition.Drifted, want{"True", "Immutable", "OpenStack resource differs in what can't be " +
		`changed: dns_domain is "example.com.", not "example.org.". Correct it there, or delete and create the ` +
		"object to have another made"})
	w.available("Network", "it")
	w.reports("Network", "it", map[string]any{"dnsDomain": "example.com."})
	change("example.org.")
	testenv.Eventually(w.t, func() error {
		if c, _ := find(w.get("Network", "it"), condition.Drifted); c != (want{}) {
			return fmt.Errorf("it still says %+v", c)
		}
		return nil
	})
	if w.id("Network", "it") != id {
		w.t.Error("it is another resource now")
	}
}
