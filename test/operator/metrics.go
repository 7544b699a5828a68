package operator

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// process is ctrlmetrics.Registry at the start of the process, in which controller-runtime
// registers its metrics.
var process = ctrlmetrics.Registry

// Metrics returns the values of a metric family of the operator in this process, by the values of
// labels; for a histogram, the number of its samples. Metrics leaves out zeros. The metrics of
// controller-runtime continue from one operator to the next.
func Metrics(tb testing.TB, family string, labels ...string) map[string]float64 {
	tb.Helper()
	values := map[string]float64{}
	for _, f := range Families(tb) {
		for _, m := range f.GetMetric() {
			if value := valueOf(m); f.GetName() == family && value != 0 {
				values[valuesOf(m, labels)] += value
			}
		}
	}
	return values
}

// Families returns every dto.MetricFamily of the operator in this process.
func Families(tb testing.TB) []*dto.MetricFamily {
	tb.Helper()
	registries := prometheus.Gatherers{process}
	if own := ctrlmetrics.Registry; own != process {
		registries = append(registries, own)
	}
	families, err := registries.Gather()
	if err != nil {
		tb.Fatalf("operator: read the metrics: %v", err)
	}
	return families
}

func valueOf(m *dto.Metric) float64 {
	return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
}

// valuesOf returns the values of labels in m, in the order of labels.
func valuesOf(m *dto.Metric, labels []string) string {
	var values []string
	for _, label := range labels {
		for _, have := range m.GetLabel() {
			if have.GetName() == label {
				values = append(values, have.GetValue())
			}
		}
	}
	return strings.Join(values, " ")
}
