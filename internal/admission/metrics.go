package admission

import (
	"context"
	"log"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kinship-dev/kinship/internal/listen"
	"github.com/kinship-dev/kinship/pkg/locked"
)

// Metrics count the answers of code 500 and above by which a handler says that it could not
// decide, such as after a failed read from the API server. The API server then refuses the request.
// Metrics also count the connections that the server closed.
type Metrics struct {
	failures *prometheus.CounterVec
	closed   *prometheus.CounterVec
	// paths are the paths of the registered handlers.
	paths locked.Map[string, struct{}]
}

// NewMetrics returns [Metrics], which are not registered yet.
func NewMetrics() *Metrics {
	m := &Metrics{
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kinship_admission_failures_total",
			Help: "Answers of webhooks that could not decide, so that the API server refuses the request.",
		}, []string{"webhook"}),
		closed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kinship_webhook_connections_closed_total",
			Help: "Connections that the webhook server closed: too many, from a wrong source, a handshake that was too slow, " +
				"or a client that refused the certificate.",
		}, []string{"reason"}),
	}
	for _, why := range listen.Reasons { // So that a query finds a zero before the first one.
		m.closed.WithLabelValues(string(why)).Add(0)
	}
	return m
}

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, to) }

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.failures.Collect(to)
	m.closed.Collect(to)
}

// counted wraps the handler of an admission.Webhook so that Metrics.answered sees each answer.
func (m *Metrics) counted(path string, hook http.Handler) http.Handler {
	m.failures.WithLabelValues(path).Add(0)
	m.paths.Store(path, struct{}{})
	return wrapped(hook, func(handler admission.Handler) admission.Handler {
		return admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
			response := handler.Handle(ctx, req)
			m.answered(path, response)
			return response
		})
	})
}

func (m *Metrics) answered(path string, response admission.Response) {
	if r := response.Result; !response.Allowed && r != nil && r.Code >= http.StatusInternalServerError {
		m.failures.WithLabelValues(path).Inc()
	}
}

// Serves reports whether a handler is registered for a path.
func (m *Metrics) Serves(path string) bool {
	_, registered := m.paths.Load(path)
	return registered
}

// quiet returns a logger for net/http, whose lines a client on the network causes as it likes.
func quiet(to logr.Logger) *log.Logger { return log.New(lines{to.V(1)}, "", 0) }

type lines struct{ to logr.Logger }

// Write implements io.Writer.
func (l lines) Write(line []byte) (int, error) {
	l.to.Info("Webhook server", "line", string(line))
	return len(line), nil
}
