package operator

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinship-dev/kinship/internal/identity"
	"github.com/kinship-dev/kinship/internal/logging"
	"github.com/kinship-dev/kinship/internal/options"
)

// noAccount is the error of a pack that can't act as [options.AccountOf] the pack. Only the pack with the
// error stops. Its webhooks then do not answer, so the API server refuses the requests that the
// webhooks judge.
type noAccount struct {
	pack string
	err  error
}

// Error implements error.
func (n *noAccount) Error() string {
	reason := n.err.Error()
	if errors.Is(n.err, identity.ErrNotInstalled) {
		reason = "there is no such account"
	}
	return fmt.Sprintf("pack %s can't act as account %s: run once with --install, and start the operator again: %s",
		n.pack, options.AccountOf(n.pack), reason)
}

// Unwrap returns the error of the API server.
func (n *noAccount) Unwrap() error { return n.err }

// tell reports noAccount in the log, in the metric kinship_pack_stopped and as a failing readiness
// check.
func (n *noAccount) tell(log logr.Logger, mgr manager.Manager) error {
	logging.Warn(log, "A pack is stopped", "pack", n.pack, "reason", n.Error())
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "kinship_pack_stopped", Help: "Whether a pack does not run because its account can't be used.",
		ConstLabels: prometheus.Labels{"pack": n.pack},
	})
	gauge.Set(1)
	if err := ctrlmetrics.Registry.Register(gauge); err != nil {
		return fmt.Errorf("register metrics of pack %s: %w", n.pack, err)
	}
	if err := mgr.AddReadyzCheck("pack-"+n.pack, func(*http.Request) error { return n }); err != nil {
		return fmt.Errorf("add readiness check of pack %s: %w", n.pack, err)
	}
	return nil
}
