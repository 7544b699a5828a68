package pack

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// RegisterMetrics adds the metrics of a pack to those of the operator.
func RegisterMetrics(all ...prometheus.Collector) error {
	for _, c := range all {
		if err := ctrlmetrics.Registry.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}
