package operator

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"

	"github.com/kinship-dev/kinship/internal/logging"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/pkg/redact"
)

// tracerName is the instrumentation scope of the spans.
const tracerName = "github.com/kinship-dev/kinship"

// tracesPath is the path below Options.TraceEndpoint at which an OTLP receiver accepts spans.
const tracesPath = "/v1/traces"

// flushTimeout bounds how long the end of the operator waits for the last spans.
const flushTimeout = 5 * time.Second

// tracing sends spans to an OTLP receiver. A nil tracing makes no spans, and changes nothing.
type tracing struct{ provider *sdktrace.TracerProvider }

// newTracing returns a tracing, or nil if --otlp-endpoint, OTEL_EXPORTER_OTLP_ENDPOINT and
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT are all empty. The OpenTelemetry SDK reads further variables,
// such as OTEL_TRACES_SAMPLER and OTEL_EXPORTER_OTLP_HEADERS.
func newTracing(ctx context.Context, o options.Options) (*tracing, error) {
	named := options.Receiver(o)
	if named == "" {
		return nil, nil // No tracing is what was asked for.
	}
	var sent []otlptracehttp.Option
	if o.TraceEndpoint != "" {
		endpoint, err := options.ParseURL("--otlp-endpoint", o.TraceEndpoint)
		if err != nil {
			return nil, err
		}
		sent = append(sent, otlptracehttp.WithEndpointURL(endpoint.JoinPath(tracesPath).String()))
	}
	exporter, err := otlptracehttp.New(ctx, sent...)
	if err != nil {
		return nil, fmt.Errorf("make exporter of traces: %w", err)
	}
	self, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "kinship"), attribute.String("service.version", o.Version),
	), resource.WithFromEnv()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last, and win.
	if err != nil {
		return nil, fmt.Errorf("describe this process in traces: %w", err)
	}
	otel.SetErrorHandler(&traceErrors{log: o.Log.WithName("traces")})
	o.Log.Info("Sending traces", "to", hostOf(named))
	return &tracing{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(self))}, nil
}

// hostOf returns the host of a URL, without credentials and path.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that is not a URL"
	}
	return u.Host
}

// traceErrors logs why spans are lost, once per text instead of once per batch.
type traceErrors struct {
	log  logr.Logger
	last atomic.Value
}

// Handle implements otel.ErrorHandler.
func (e *traceErrors) Handle(err error) {
	if e.last.Swap(err.Error()) != err.Error() {
		logging.Warn(e.log, "Traces are lost", "reason", err.Error())
	}
}

// stop sends the last spans.
func (t *tracing) stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

// tracer returns the trace.Tracer for reconcile passes, or nil.
func (t *tracing) tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(tracerName)
}

// wrap returns an http.RoundTripper that makes a span of each request within a reconcile pass.
// Other requests have no span, such as the watches of informers, which do not end.
func (t *tracing) wrap(to http.RoundTripper) http.RoundTripper {
	if t == nil {
		return to
	}
	return redact.Transport(to, func(to http.RoundTripper) http.RoundTripper { // An operation's address is signed.
		return otelhttp.NewTransport(to, otelhttp.WithTracerProvider(t.provider),
			otelhttp.WithFilter(func(r *http.Request) bool {
				return trace.SpanContextFromContext(r.Context()).IsValid()
			}),
			otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method + " " + r.URL.Host }),
		)
	})
}

// traced returns a rest.Config whose requests have spans.
func (t *tracing) traced(config *rest.Config) *rest.Config {
	if t == nil {
		return config
	}
	config = rest.CopyConfig(config)
	config.Wrap(t.wrap)
	return config
}
