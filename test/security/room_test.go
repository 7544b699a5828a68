package security_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// largeComponent returns a Component whose workload has a text of some bytes.
func largeComponent(namespace, name string, bytes int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"workload": map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"text": strings.Repeat("x", bytes)},
	}}}}
	u.SetAPIVersion("core.oam.dev/v1alpha2")
	u.SetKind("Component")
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// TestRoomOfNamespace: a tenant who creates large Components is refused once his namespace takes three quarters of
// --max-namespace-size. The refusal names the namespace, the bytes and the option. Others go on, and the tenant does
// when he has deleted a Component.
func TestRoomOfNamespace(t *testing.T) {
	process := operator.Exec(t, "--packs", "oam", "--max-namespace-size", strconv.Itoa(8<<20))
	tenant, other := newLand(t), newLand(t)
	c := operator.Client(t)
	before := peakOf(t, process.PID())
	var refused error
	created := 0
	for refused == nil && created < 100 {
		refused = c.Create(t.Context(), largeComponent(tenant.NS, fmt.Sprint("large", created), 250_000))
		if refused == nil {
			created++
		}
	}
	want := fmt.Sprintf("the objects of namespace %q take ", tenant.NS)
	if refused == nil || !strings.Contains(refused.Error(), want) ||
		!strings.Contains(refused.Error(), "--max-namespace-size") {
		t.Fatalf("after %d Components the answer is %v, want a refusal with %q", created, refused, want)
	}
	if after := peakOf(t, process.PID()); after > before+64 {
		t.Errorf("%d Components raise the memory from %d to %d MB", created, before, after)
	} else {
		t.Logf("%d Components raise the memory from %d to %d MB", created, before, after)
	}
	if err := c.Create(t.Context(), largeComponent(other.NS, "small", 1000)); err != nil {
		t.Errorf("another namespace: %v", err)
	}
	small := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"workload":{"data":{"text":"x"}}}}`))
	if err := c.Patch(t.Context(), largeComponent(tenant.NS, "large0", 0), small); err != nil {
		t.Errorf("make a Component smaller: %v", err)
	}
	if err := c.Delete(t.Context(), largeComponent(tenant.NS, "large1", 0)); err != nil {
		t.Errorf("delete a Component: %v", err)
	}
	testenv.Eventually(t, func() error {
		return c.Create(t.Context(), largeComponent(tenant.NS, "again", 1000))
	})
}
