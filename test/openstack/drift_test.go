package openstack_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/condition"
)

// driftTests are what becomes of fields that somebody changes in the cloud and that
// can't be changed by the spec.
var driftTests = map[string]func(*testing.T){
	"drift of what can't be changed": testImmutableDrift,
}

// testImmutableDrift: such a change is told, and nothing else comes of it; it is told
// no longer once it is undone.
func testImmutableDrift(t *testing.T) {
	w := newWorld(t)
	w.apply(manifest("Network", "it", "resyncPeriod: 1s, resource: {dnsDomain: example.org.}"))
	w.available("Network", "it")
	network, id := w.admin(), w.id("Network", "it")
	change := func(domain string) {
		t.Helper()
		body := map[string]any{"network": map[string]any{"dns_domain": domain}}
		if err := kit.Call(t.Context(), network, http.MethodPut, network.ServiceURL("networks", id), body, nil); err != nil {
			t.Fatal(err)
		}
	}
	change("example.com.")
	w.has("Network", "it", condition.Drifted, want{"True", "Immutable", "OpenStack resource differs in what can't be " +
		`changed: dns_domain is "example.com.", not "example.org.". Correct it there, or delete and create the ` +
		"object to have another made"})
	w.available("Network", "it")
	w.reports("Network", "it", map[string]any{"dnsDomain": "example.com."})
	change("example.org.")
	testenv.Eventually(t, func() error {
		if c, _ := find(w.get("Network", "it"), condition.Drifted); c != (want{}) {
			return fmt.Errorf("it still says %+v", c)
		}
		return nil
	})
	if w.id("Network", "it") != id {
		t.Error("it is another resource now")
	}
}
