package usage_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// testOwnerDeleted: an owner of a protected object is deleted. The protected object is kept,
// and the deletion completes after its release.
func testOwnerDeleted(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{"Foreground", "Background", "Orphan"} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			owner, using, used, other := configMap("owner"), configMap("using"), configMap("used"), configMap("other")
			w.create(owner, using)
			w.owned(owner, used, other)
			u := uses("u", named("using"), named("used"))
			w.create(u)
			w.ready(u)
			w.locked(used)
			if err := w.C.Delete(t.Context(), owner, client.PropagationPolicy(policy)); err != nil {
				t.Fatal(err)
			}
			switch policy {
			case "Orphan":
				w.Gone(owner)
				w.refused(used, client.DryRunAll)
				w.Exists(other)
			case "Background":
				w.Gone(owner)
				w.Gone(other)
				w.recordedForCollector(u)
			case "Foreground":
				w.Gone(other)
				w.recordedForCollector(u)
				if err := w.Read(owner); err != nil || owner.DeletionTimestamp == nil {
					t.Errorf("the owner does not wait for what it owns: %v", err)
				}
			}
			w.Exists(used)
			w.Delete(using)
			w.goneWithin(promptly, u)
			if policy == "Orphan" {
				w.free(used)
				w.Exists(used)
				return
			}
			w.goneWithin(promptly, used)
			w.Gone(owner)
		})
	}
}

// recordedForCollector waits until the garbage collector was refused.
func (w *world) recordedForCollector(u usage) {
	w.T.Helper()
	testenv.Eventually(w.T, func() error {
		if err := w.Read(u); err != nil {
			return err
		}
		if r := u.UsageStatus().Refused; len(r) == 0 || r[0].User != garbageCollector {
			return fmt.Errorf("recorded is %+v", r)
		}
		return nil
	})
}
