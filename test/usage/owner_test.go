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
			if err := w.c.Delete(t.Context(), owner, client.PropagationPolicy(policy)); err != nil {
				t.Fatal(err)
			}
			switch policy {
			case "Orphan":
				w.gone(owner)
				w.refused(used, client.DryRunAll)
				w.exists(other)
			case "Background":
				w.gone(owner)
				w.gone(other)
				w.recordedForCollector(u)
			case "Foreground":
				w.gone(other)
				w.recordedForCollector(u)
				if err := w.read(owner); err != nil || owner.DeletionTimestamp == nil {
					t.Errorf("the owner does not wait for what it owns: %v", err)
				}
			}
			w.exists(used)
			w.delete(using)
			w.goneWithin(promptly, u)
			if policy == "Orphan" {
				w.free(used)
				w.exists(used)
				return
			}
			w.goneWithin(promptly, used)
			w.gone(owner)
		})
	}
}

// recordedForCollector waits until the garbage collector was refused.
func (w *world) recordedForCollector(u usage) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		if err := w.read(u); err != nil {
			return err
		}
		if r := u.UsageStatus().Refused; len(r) == 0 || r[0].User != garbageCollector {
			return fmt.Errorf("recorded is %+v", r)
		}
		return nil
	})
}
