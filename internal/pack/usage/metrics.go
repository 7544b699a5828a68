package usage

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
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

// reasons are the values of the label reason. A status with another reason, as of an earlier release, counts
// as otherReason, and one without a Ready condition as noReason.
var reasons = []string{
	sharedv1alpha1.ReasonAvailable, sharedv1alpha1.ReasonCycle, sharedv1alpha1.ReasonFailed,
	sharedv1alpha1.ReasonInvalid, sharedv1alpha1.ReasonKindNotFound, sharedv1alpha1.ReasonLocked,
	sharedv1alpha1.ReasonLocking, sharedv1alpha1.ReasonNotEnforced, sharedv1alpha1.ReasonNotGranted,
	sharedv1alpha1.ReasonReading, sharedv1alpha1.ReasonReleasing, sharedv1alpha1.ReasonSelectorUnmatched,
	sharedv1alpha1.ReasonUsedNotFound, sharedv1alpha1.ReasonUsingNotFound, sharedv1alpha1.ReasonWaitingUsingDeleted,
}

const (
	otherReason = "other"
	noReason    = "none"
)

// stateMetrics counts objects at each scrape. A counter that each event changes would stay wrong after one
// mistake.
type stateMetrics struct {
	ledger            *ledger
	usages            func() []usage
	protected, states *prometheus.Desc
}

func newStateMetrics(l *ledger, usages func() []usage) stateMetrics {
	return stateMetrics{
		ledger: l, usages: usages,
		protected: prometheus.NewDesc("kinship_protected_objects",
			"Objects with the lock, whose deletion is refused.", []string{"group", "kind"}, nil),
		states: prometheus.NewDesc("kinship_usage_states",
			"Usages by the reason of their Ready condition.", []string{"reason"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (m stateMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.protected
	descs <- m.states
}

// Collect implements prometheus.Collector.
func (m stateMetrics) Collect(metrics chan<- prometheus.Metric) {
	for _, gk := range m.ledger.Declared.TargetKinds() {
		locked, known := m.locked(gk)
		if !known {
			continue // The cluster may not serve the kind. Its name is an author's, not a label.
		}
		metrics <- prometheus.MustNewConstMetric(m.protected, prometheus.GaugeValue, float64(locked), gk.Group, gk.Kind)
	}
	counts := map[string]int{}
	for _, u := range m.usages() {
		counts[reasonOf(u)]++
	}
	for _, reason := range append(slices.Clone(reasons), otherReason, noReason) {
		metrics <- prometheus.MustNewConstMetric(m.states, prometheus.GaugeValue, float64(counts[reason]), reason)
	}
}

// locked returns how many objects of a kind have the lock.
func (m stateMetrics) locked(gk schema.GroupKind) (n int, known bool) {
	all, known := m.ledger.watcher.List(relation.Ref{
		ID: object.ID{Group: gk.Group, Kind: gk.Kind}, Selector: m.ledger.Mark.Selector(),
	})
	return len(all), known
}

// reasonOf returns the value of the label reason of a Usage.
func reasonOf(u usage) string {
	c := readyCondition(u)
	switch {
	case c == nil:
		return noReason
	case slices.Contains(reasons, c.Reason):
		return c.Reason
	default:
		return otherReason
	}
}
