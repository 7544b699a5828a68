package usage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// testMetrics: what docs/metrics.md lists is counted.
func testMetrics(t *testing.T) {
	w := newWorld(t)
	before := metrics(t)
	used, using, u := w.protected(false)
	after := metrics(t)
	check := func(name string, want float64) {
		t.Helper()
		if got := after[name] - before[name]; got != want {
			t.Errorf("%s rose by %g, want %g", name, got, want)
		}
	}
	check("kinship_usages", 1)
	w.refused(used)
	w.refused(used, client.DryRunAll)
	after = metrics(t)
	check("kinship_blocked_deletes_total ConfigMap", 2)
	if after["kinship_admission_duration_seconds"]-before["kinship_admission_duration_seconds"] < 2 {
		t.Errorf("answers were not timed: %v", after)
	}
	w.delete(using)
	w.gone(u)
	w.free(used)
	testenv.Eventually(t, func() error {
		after = metrics(t)
		if diff := cmp.Diff(before["kinship_usages"], after["kinship_usages"]); diff != "" {
			return fmt.Errorf("the number of Usages is not what it was: %s", diff)
		}
		return nil
	})
	check("kinship_release_seconds", 1)
}

// metrics returns the values of what is our own: of histograms how many there
// are.
func metrics(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if strings.HasPrefix(f.GetName(), "kinship_") {
				values[strings.TrimSpace(f.GetName()+" "+kindLabel(m))] = valueOf(m)
			}
		}
	}
	return values
}

func kindLabel(m *dto.Metric) string {
	for _, label := range m.GetLabel() {
		if label.GetName() == "kind" {
			return label.GetValue()
		}
	}
	return ""
}

func valueOf(m *dto.Metric) float64 {
	if m.GetHistogram() != nil {
		return float64(m.GetHistogram().GetSampleCount())
	}
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}
