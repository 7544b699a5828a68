package usage

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

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
