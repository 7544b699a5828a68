package openstack_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// testImmutableDrift changes a field in the cloud that the spec can't change: status.drift
// lists the field, without any other effect, until the change is undone.
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

// testEvents: changes and deletions by a user in OpenStack are corrected, with events.
func testEvents(w *world) {
	w.t.Helper()
	w.apply(manifest("Network", "it", "resyncPeriod: 1s, resource: {description: ours}"))
	w.available("Network", "it")
	network, id := w.admin(), w.id("Network", "it")
	body := map[string]any{"network": map[string]any{"description": "theirs"}}
	if err := kit.Call(w.t.Context(), network, http.MethodPut, network.ServiceURL("networks", id), body, nil); err != nil {
		w.t.Fatal(err)
	}
	w.records("Network", "it", "Normal", "Updated", "corrected description")
	w.deleteOutside("network/networks", id)
	w.records("Network", "it", "Warning", "DeletedExternally", id+" was deleted externally; it is created again")
	w.becomes("Network", "it", id)
	w.available("Network", "it")
}

// records waits for an event about an object.
func (w *world) records(kind, name, severity, reason, note string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		var all eventsv1.EventList
		if err := w.c.List(w.t.Context(), &all, client.InNamespace(w.ns)); err != nil {
			return err
		}
		var told []string
		for _, e := range all.Items {
			if e.Regarding.Kind != kind || e.Regarding.Name != name {
				continue
			}
			if e.Type == severity && e.Reason == reason && e.Note == note && e.ReportingController == "kinship-openstack" {
				return nil
			}
			told = append(told, strings.Join([]string{e.ReportingController, e.Type, e.Reason, e.Note}, " "))
		}
		return fmt.Errorf("no event %s %s of %s/%s: %q, but %q", severity, reason, kind, name, note, told)
	})
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
