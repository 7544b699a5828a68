package openstack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestMetrics: what docs/metrics.md lists is counted.
func TestMetrics(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	w.apply(managed("Network", "net", "{}"),
		managed("Subnet", "sub", "{networkRef: missing, ipVersion: 4, cidr: 10.0.0.0/24}"),
		managed("Subnet", "bad", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24, gateway: {ip: fd00::1, type: IP}}"))
	testenv.Eventually(t, func() error {
		counted := metrics(t, "kinship_external_objects", "kind", "state")
		if diff := cmp.Diff(map[string]float64{"Network ready": 1, "Subnet waiting": 1, "Subnet stuck": 1}, counted); diff != "" {
			return fmt.Errorf("objects (-want +got):\n%s", diff)
		}
		return nil
	})
	requests := metrics(t, "kinship_openstack_request_duration_seconds", "service", "resource", "method", "code")
	if requests["network networks POST 201"] != 1 {
		t.Errorf("one network was made; counted were %v", requests)
	}
}

// metrics returns what a family counts, by the values of labels. Zeros are left out.
func metrics(t *testing.T, name string, labels ...string) map[string]float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var key []string
			for _, label := range labels {
				for _, have := range m.GetLabel() {
					if have.GetName() == label {
						key = append(key, have.GetValue())
					}
				}
			}
			value := m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			if f.GetName() == name && value != 0 {
				values[strings.Join(key, " ")] += value
			}
		}
	}
	return values
}
