package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
)

func TestOwnRequests(t *testing.T) {
	own := newOwnRequests()
	answer := roundTripper(func(*http.Request) (*http.Response, error) { return httptest.NewRecorder().Result(), nil })
	transport := own.wrap(answer)
	for _, line := range []struct{ method, path string }{
		{http.MethodGet, "/api/v1/namespaces/n/configmaps/a"},
		{http.MethodGet, "/api/v1/namespaces/n/configmaps?limit=1"},
		{http.MethodGet, "/api/v1/namespaces/n/configmaps?watch=true"},
		{http.MethodPost, "/apis/protection.crossplane.io/v1beta1/namespaces/n/usages"},
		{http.MethodDelete, "/api/v1/namespaces/n/configmaps/a?dryRun=All"},
		{http.MethodDelete, "/api/v1/namespaces/n/configmaps"},
		{http.MethodGet, "/metrics"},
		{http.MethodGet, "/apis/protection.crossplane.io/v1beta1"},
	} {
		resp, err := transport.RoundTrip(httptest.NewRequestWithContext(t.Context(), line.method, line.path, nil))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // A recorder's.
	}
	want := gauge.Counts{
		{Verb: "GET", Resource: "configmaps"}:                                 1,
		{Verb: "LIST", Resource: "configmaps"}:                                1,
		{Verb: "POST", Group: "protection.crossplane.io", Resource: "usages"}: 1,
		{Verb: "DELETE", Resource: "configmaps"}:                              1,
		{Verb: "DELETECOLLECTION", Resource: "configmaps"}:                    1,
	}
	if diff := cmp.Diff(want, own.snapshot()); diff != "" {
		t.Errorf("named as in the server's counter, without watches, metrics and discovery (-want +got):\n%s", diff)
	}
}
