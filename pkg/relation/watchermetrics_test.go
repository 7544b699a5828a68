package relation_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestWatcherMetrics: the metrics count kinds that are served and objects that are held. A kind
// that no server serves is not counted, since a tenant may choose its name.
func TestWatcherMetrics(t *testing.T) {
	namespace := testenv.Namespace(t)
	create(t, namespace, "a", nil)
	create(t, namespace, "b", nil)
	h := start(t, testenv.Config(t))
	registry := prometheus.NewRegistry()
	if err := registry.Register(h.Metrics("toy")); err != nil {
		t.Fatal(err)
	}
	nowhere := schema.GroupKind{Group: "nowhere.example", Kind: "Nothing"}
	h.Use(alice, configMap, nowhere)
	h.awaitRead(t, configMap)
	testenv.Eventually(t, func() error { // The two kinds of definitions are read at the start.
		got := gather(t, registry)
		objects := got["kinship_watch_objects  ConfigMap toy"]
		if got["kinship_watch_kinds toy"] != 3 || got["kinship_watch_reads_total toy"] != 3 || int(objects) < 2 {
			return fmt.Errorf("metrics are %v, want 3 kinds, each read once, and the ConfigMaps", got)
		}
		return nil
	})
	if got := gather(t, registry); got["kinship_watch_doubt_seconds_total toy"] <= 0 {
		t.Errorf("metrics are %v, want the time until the kinds were read", got)
	}
	before := gather(t, registry)["kinship_watch_doubt_seconds_total toy"]
	if after := gather(t, registry)["kinship_watch_doubt_seconds_total toy"]; after != before {
		t.Errorf("the time of doubt grows from %g to %g s although all kinds are read", before, after)
	}
}

// gather returns the values of all metrics, by name and labels.
func gather(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			key := family.GetName()
			for _, label := range m.GetLabel() {
				key += " " + label.GetValue()
			}
			values[key] = valueOf(m)
		}
	}
	return values
}

func valueOf(m *dto.Metric) float64 {
	return m.GetGauge().GetValue() + m.GetCounter().GetValue()
}
