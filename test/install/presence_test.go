package install_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/operator"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// stopsWith is a transport that stops the operator when the API server has stored the
// operator's Lease, and before the operator is told of that.
type stopsWith struct {
	rest http.RoundTripper
	stop context.CancelFunc
}

// RoundTrip implements http.RoundTripper.
func (s stopsWith) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/namespaces/kinship-system/leases") {
		return s.rest.RoundTrip(r)
	}
	answer, err := s.rest.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
	s.stop()
	<-r.Context().Done() // The manager returns it, or the request takes too long.
	if err == nil {
		_ = answer.Body.Close()
	}
	return nil, r.Context().Err()
}

// TestStoppedAtOnce stops an operator while its Lease is being created. No Lease is left,
// which would count the operator as running for 90 s.
func TestStoppedAtOnce(t *testing.T) {
	ctrlmetrics.Registry = prometheus.NewRegistry() // In production, a process has one operator.
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	o := optionsFor(t)
	o.Packs = []string{"usage"}
	if err := install.Install(ctx, o); err != nil {
		t.Fatal(err)
	}
	o.Config = testenv.As(t, options.Operator)
	o.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return stopsWith{rest: next, stop: stop} })
	if err := operator.Run(ctx, o); err != nil {
		t.Errorf("run: %v", err)
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		t.Fatal("the operator created no Lease in 20 s")
	}
	for name := range everything(t) {
		if strings.HasPrefix(name, "leases.") && strings.Contains(name, "kinship-running-") {
			t.Errorf("%s is left", name)
		}
	}
	removeAll(t)
}
