package openstack_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestMetrics: the metrics in docs/metrics.md are counted.
func TestMetrics(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	w.apply(managed("Network", "net", "{}"),
		managed("Subnet", "sub", "{networkRef: missing, ipVersion: 4, cidr: 10.0.0.0/24}"),
		managed("Subnet", "bad", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24, gateway: {ip: fd00::1, type: IP}}"))
	testenv.Eventually(t, func() error {
		counted := operator.Metrics(t, "kinship_external_objects", "kind", "state")
		if diff := cmp.Diff(map[string]float64{"Network ready": 1, "Subnet waiting": 1, "Subnet stuck": 1}, counted); diff != "" {
			return fmt.Errorf("objects (-want +got):\n%s", diff)
		}
		return nil
	})
	requests := operator.Metrics(t, "kinship_openstack_request_duration_seconds", "service", "resource", "method", "code")
	if requests["network networks POST 201"] != 1 {
		t.Errorf("one network was made; counted were %v", requests)
	}
}
