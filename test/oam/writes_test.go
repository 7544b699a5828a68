package oam_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// testQuietChange: the change of a Component costs one write of its application's status. Synced stays True while the
// revision is on its way, and status.workloads names the current revision alone, also with a trait that has a workload
// for each revision.
func testQuietChange(t *testing.T) {
	for trait, workload := range map[string]string{"": "quiet", barTrait: "quiet-v2"} {
		w := newWorld(t)
		w.write(bare("quiet", 1))
		w.write(application("app", "componentName: quiet") + trait)
		w.get("ApplicationConfiguration", "app", synced(""))
		watched := testenv.WatchVersions(t, w.C, w.blank("ApplicationConfiguration", "app").GroupVersionKind(), w.NS, "app")
		w.change("Component", "quiet", int64(2), "spec", "workload", "spec", "key")
		w.get("Bar", workload, field(2, "spec", "key"))
		w.get("ApplicationConfiguration", "app", func(u *unstructured.Unstructured) error {
			workloads, _, _ := unstructured.NestedSlice(u.Object, "status", "workloads")
			if len(workloads) == 1 && workloads[0].(map[string]any)["componentRevisionName"] == "quiet-v2" {
				return nil
			}
			return fmt.Errorf("status.workloads is %v", workloads)
		})
		w.marker("marker")
		states := watched.Until(w.get("ApplicationConfiguration", "app", nil).GetResourceVersion())
		if len(states) != 2 {
			t.Errorf("with %q: %d writes, want 1", trait, len(states)-1)
		}
		for _, u := range states {
			if err := synced("")(u); err != nil {
				t.Errorf("with %q: %v", trait, err)
			}
			if workloads, _, _ := unstructured.NestedSlice(u.Object, "status", "workloads"); len(workloads) != 1 {
				t.Errorf("with %q: status.workloads is %v", trait, workloads)
			}
		}
	}
}

// marker waits until the operator has reconciled another application, which is created now.
func (w *world) marker(name string) {
	w.T.Helper()
	w.write(bare(name, 1))
	w.write(application(name, "componentName: "+name))
	w.get("ApplicationConfiguration", name, synced(""))
}
