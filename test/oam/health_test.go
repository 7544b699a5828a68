package oam_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// testVerdicts: each workload of a HealthScope has a verdict of its own, also if the author may not read
// another one, or if the kind of another one does not exist.
func testVerdicts(t *testing.T) {
	w := newWorld(t)
	ready := func(status string) func() {
		one := w.blank("Bar", "one")
		return func() {
			t.Helper()
			testenv.Eventually(t, func() error {
				if err := w.Read(one); err != nil {
					return err
				}
				one.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status}}}
				return w.C.Status().Update(t.Context(), one)
			})
		}
	}
	w.write("\napiVersion: example.com/v1\nkind: Bar\nmetadata: {name: one}")
	ready("True")()
	w.User("watcher", may("core.oam.dev", writes, "healthscopes"), may("example.com", writes, "bars"))
	w.writeAs("watcher", `
apiVersion: core.oam.dev/v1alpha2
kind: HealthScope
metadata: {name: health}
spec:
  workloadRefs:
    - {apiVersion: v1, kind: Secret, name: key}
    - {apiVersion: example.com/v1, kind: Extinct, name: gone}
    - {apiVersion: example.com/v1, kind: Bar, name: one}`)
	verdict := func(i int, health, diagnosis string) {
		t.Helper()
		w.get("HealthScope", "health", func(u *unstructured.Unstructured) error {
			all, _, _ := unstructured.NestedSlice(u.Object, "status", "healthConditions")
			if len(all) <= i {
				return field(i+1, "length")(u)
			}
			one := &unstructured.Unstructured{Object: all[i].(map[string]any)}
			if said, _ := one.Object["diagnosis"].(string); !strings.Contains(said, diagnosis) {
				return field(diagnosis, "diagnosis")(one)
			}
			return field(health, "healthStatus")(one)
		})
	}
	verdict(0, "UNKNOWN", "watcher may not get secrets")
	verdict(1, "UNKNOWN", "Extinct")
	verdict(2, "HEALTHY", "")
	w.get("HealthScope", "health", field("UNHEALTHY", "status", "scopeHealthCondition", "healthStatus"))
	w.get("HealthScope", "health", field(2, "status", "scopeHealthCondition", "unknownWorkloads"))
	w.get("HealthScope", "health", synced("watcher may not get secrets"))
	ready("False")()
	verdict(2, "UNHEALTHY", "Bar/one")
}
