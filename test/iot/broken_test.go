package iot_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/iot"
)

// testBrokenAnswer: a request whose answer breaks off is repeated, whether or not the API
// server has carried it out.
func testBrokenAnswer(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("normalization", "Normalization"))
	w.Create(c)
	config := testenv.Config(t)
	broken := &breaks{once: map[string]bool{http.MethodGet: true, http.MethodPut: true}}
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		broken.base = base
		return broken
	})
	p := iot.Provider{Client: testenv.ClientFor(t, config, w.C.Scheme()), Type: iot.TypeFhirConverter}
	key := client.ObjectKeyFromObject(c)
	must(t, p.Provision(t.Context(), key, iot.Spec{Name: "fhir", Containers: image("f:1")}))
	w.ready(c)
	w.consists(c, "normalization", "fhir")
	broken.arm(http.MethodPut)
	must(t, p.Deprovision(t.Context(), key, "fhir"))
	w.ready(c)
	w.consists(c, "normalization")
	if left := broken.arm(); left > 0 {
		t.Errorf("%d answers did not break off", left)
	}
}

// testProvisionedBetween: an answer breaks off, and before the request is repeated, another
// client provisions the removed entry. This entry is kept.
func testProvisionedBetween(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("normalization", "Normalization"))
	w.Create(c)
	key, other := client.ObjectKeyFromObject(c), w.provider(iot.TypeFhirConverter)
	must(t, other.Provision(t.Context(), key, iot.Spec{Name: "fhir", Containers: image("f:1")}))
	config := testenv.Config(t)
	broken := &breaks{once: map[string]bool{http.MethodPut: true}, then: func() {
		must(t, other.Provision(t.Context(), key, iot.Spec{Name: "fhir", Containers: image("f:2")}))
	}}
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		broken.base = base
		return broken
	})
	p := iot.Provider{Client: testenv.ClientFor(t, config, w.C.Scheme()), Type: iot.TypeFhirConverter}
	must(t, p.Deprovision(t.Context(), key, "fhir"))
	w.ready(c)
	w.consists(c, "normalization", "fhir")
	if image := w.deployment("fhir").Spec.Template.Spec.Containers[0].Image; image != "f:2" {
		t.Errorf("image %s, want that of who came second", image)
	}
	// Now there is no other client, and a second call is intended.
	must(t, p.Deprovision(t.Context(), key, "fhir"))
	w.ready(c)
	w.consists(c, "normalization")
}

// breaks breaks off the next answer to each of some methods, in the middle. Discovery requests
// are not affected.
type breaks struct {
	base http.RoundTripper
	then func() // if set, comes before anybody learns that an answer broke off

	mu   sync.Mutex
	once map[string]bool
}

// arm breaks off the next answers to methods, and returns how many earlier methods were not
// broken.
func (b *breaks) arm(methods ...string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := len(b.once)
	b.once = map[string]bool{}
	for _, method := range methods {
		b.once[method] = true
	}
	return left
}

// RoundTrip implements [http.RoundTripper].
func (b *breaks) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.base.RoundTrip(request)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil || !strings.Contains(request.URL.Path, "/iotconnectors/") || !b.once[request.Method] {
		return response, err
	}
	delete(b.once, request.Method)
	if b.then != nil {
		b.then()
	}
	whole, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // The body was read to its end.
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), iotest.ErrReader(syscall.ECONNRESET)))
	return response, nil
}
