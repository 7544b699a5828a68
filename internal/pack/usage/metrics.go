package usage

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinship-dev/kinship/internal/pack"
)

// metrics of the pack. The names of the metrics are part of the API: docs/metrics.md lists
// them.
type metrics struct {
	refusals *prometheus.CounterVec
	answers  prometheus.Histogram
	releases prometheus.Histogram
}

func newMetrics() *metrics {
	return &metrics{
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kinship_blocked_deletes_total", Help: "Deletions refused because the object is in use.",
		}, []string{"group", "kind"}),
		answers: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "kinship_admission_duration_seconds", Help: "Time to answer whether an object may be deleted.",
			Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .05, .25, 1},
		}),
		releases: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "kinship_release_seconds", Help: "Time from the deletion of a Usage to its end.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600},
		}),
	}
}

// register registers the metrics of the pack, and those that count what the ledger and the store have.
func (m *metrics) register(l *ledger, store *usageStore) error {
	return pack.RegisterMetrics(m.refusals, m.answers, m.releases,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "kinship_usages", Help: "Usages that declare a protection.",
		}, func() float64 { return float64(l.Declared.Len()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "kinship_protected_kinds", Help: "Kinds of which objects are protected.",
		}, func() float64 { return float64(len(l.Declared.TargetKinds())) }),
		newStateMetrics(l, store.all), l.Declared.Metrics("usage"))
}
