package openstack_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

var imageImportTests = map[string]func(*testing.T){
	"Image that waits for its import is not imported again": testImportWaits,
	"Image whose import was not answered":                   testImportLost,
}

// attempts returns how often the content of an Image was tried to get.
func (w *world) attempts(name string) int64 {
	w.t.Helper()
	n, _, err := unstructured.NestedInt64(w.get("Image", name).Object, "status", "downloadAttempts")
	if err != nil {
		w.t.Error(err)
	}
	return n
}

// importRequests counts the operator's POST requests to Glance about images by their answers:
// 201 for an image, 202 for an import. Real services count no requests, so the operator's
// metrics are used, which count all clouds together.
func (w *world) importRequests() map[string]float64 {
	w.t.Helper()
	counted := map[string]float64{}
	if w.cloud != nil {
		counted["201"] = float64(w.requests(http.MethodPost, "images"))
		counted["202"] = float64(w.requests(http.MethodPost, "images/import"))
		return counted
	}
	all := operator.Metrics(w.t, "kinship_openstack_request_duration_seconds", "service", "resource", "method", "code")
	for labels, n := range all {
		if code, is := strings.CutPrefix(labels, "image images POST "); is {
			counted[code] = n
		}
	}
	return counted
}

// testImportedOnce: each Image is created by one request, and filled by one more.
func testImportedOnce(w *world) {
	w.t.Helper()
	before := w.importRequests()
	names := []string{"one", "two", "three"}
	for _, name := range names {
		w.apply(managed("Image", name, images[0].minimal))
	}
	w.available("Image", names...)
	for _, name := range names {
		w.has("Image", name, "Downloading", dataSaved)
		if n := w.attempts(name); n != 1 {
			w.t.Errorf("Image/%s: %d attempts", name, n)
		}
	}
	n, now := float64(len(names)), w.importRequests()
	if diff := cmp.Diff(map[string]float64{"201": before["201"] + n, "202": before["202"] + n}, now); diff != "" {
		w.t.Errorf("requests by their answers (-want +got):\n%s", diff)
	}
}

// testImportWaits: Glance is busy, and passes happen before the import has begun.
func testImportWaits(t *testing.T) {
	w := newWorld(t)
	release := w.cloud.HoldImports()
	t.Cleanup(release)
	w.apply(managed("Image", "it", images[0].minimal))
	w.has("Image", "it", "Downloading", want{"True", "Progressing", "OpenStack downloads the data"})
	w.edit("Image", "it", `{"spec":{"resource":{"tags":["a"]}}}`)
	w.reports("Image", "it", map[string]any{"tags": []any{"a"}, "status": "queued"})
	looks := w.requests("GET", "images")
	testenv.Eventually(t, func() error {
		if n := w.requests("GET", "images"); n < looks+2 {
			return fmt.Errorf("looked at it %d times since it was edited", n-looks)
		}
		return nil
	})
	w.has("Image", "it", "Progressing",
		want{"True", "Progressing", "OpenStack says that the status is queued\nWaiting for OpenStack resource to be ready"})
	release()
	w.importedOnce("it")
}

// importedOnce waits until an Image is available, by one import.
func (w *world) importedOnce(name string) {
	w.t.Helper()
	w.available("Image", name)
	w.has("Image", name, "Downloading", dataSaved)
	if n := w.requests("POST", "images/import"); n != 1 {
		w.t.Errorf("an import was asked for %d times", n)
	}
	if n := w.requests("PUT", "images/file"); n != 0 {
		w.t.Errorf("%d uploads", n)
	}
	if n := w.attempts(name); n != 1 {
		w.t.Errorf("%d attempts", n)
	}
}

// testImportLost has the answer to an import be lost that is carried out.
func testImportLost(t *testing.T) {
	w := newWorld(t)
	release := w.cloud.HoldImports()
	t.Cleanup(release)
	w.cloud.AddFault(emulator.Fault{Method: "POST", Resource: "images/import", Reset: emulator.AfterExecution})
	w.apply(managed("Image", "it", images[0].minimal))
	w.has("Image", "it", "Downloading", want{"True", "Progressing", "OpenStack downloads the data"})
	release()
	w.importedOnce("it")
}

// TestKilledImporting kills an operator after Glance has accepted an import, before the status
// shows the import. The next operator does not request another import.
func TestKilledImporting(t *testing.T) {
	first := operator.Exec(t, "--packs", "openstack")
	w := newWorld(t)
	release := w.cloud.HoldImports()
	t.Cleanup(release)
	call := emulator.Call{Service: "image", Method: http.MethodPost, Resource: "images/import"}
	w.cloud.AddFault(emulator.Fault{
		Service: call.Service, Method: call.Method, Resource: call.Resource, Reset: emulator.AfterExecution, Last: true,
	})
	w.apply(managed("Image", "it", images[0].minimal))
	testenv.Eventually(t, func() error {
		if w.cloud.Done()[call] == 0 {
			return errors.New("no import was asked for yet")
		}
		return nil
	})
	first.Kill()
	if n := w.attempts("it"); n != 0 {
		t.Fatalf("%d attempts are recorded: the operator was killed too late", n)
	}
	w.cloud.ClearFaults()
	operator.Exec(t, "--packs", "openstack")
	w.has("Image", "it", "Downloading", want{"True", "Progressing", "OpenStack downloads the data"})
	release()
	w.importedOnce("it")
	w.tidyUp()
}
