package operator

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kinship-dev/kinship/internal/options"
)

// TestTracingOff: without an endpoint, nothing is wrapped. An endpoint that is no URL is refused at the start.
func TestTracingOff(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		t.Setenv(name, "")
	}
	off, err := newTracing(t.Context(), options.Options{})
	if err != nil || off != nil {
		t.Fatalf("tracing %v, error %v; want none", off, err)
	}
	config := &rest.Config{}
	if off.tracer() != nil || off.traced(config) != config || off.wrap(http.DefaultTransport) != http.DefaultTransport {
		t.Error("requests or passes have spans")
	}
	if err := off.stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, endpoint := range []string{"collector:4318", "collector", "grpc://collector:4317", "http://"} {
		_, err := newTracing(t.Context(), options.Options{TraceEndpoint: endpoint})
		if err == nil || !strings.Contains(err.Error(), endpoint) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}
