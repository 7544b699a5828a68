package usage_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestRestart kills the operator between a refusal and the moment when the
// deletion may be carried out, which comes while no operator runs.
func TestRestart(t *testing.T) {
	first := operator.Exec(t)
	w := newWorld(t)
	used, using, u := w.protected(true)
	w.refused(used, client.PropagationPolicy("Orphan"))
	other := protects("v", named("using"), "precious")
	w.create(other)
	w.ready(other)
	first.Kill()

	if err := w.C.Delete(t.Context(), used); !apierrors.IsInternalError(err) {
		t.Errorf("without the operator the deletion is answered with %v, want a failure", err)
	}
	// Unprotected objects are not affected, and a protected object is deleted in another way.
	free := configMap("free")
	w.create(free)
	w.Delete(free)
	w.Delete(u) // Its finalizer keeps the object.

	operator.Exec(t, "--usage-grace-period", "10m") // Or u could be over before the operator runs.
	w.refused(using)
	w.refused(used)
	w.Delete(other)
	w.Gone(other)
	w.free(using)
	w.Delete(using)
	w.goneWithin(promptly, used)
	w.Gone(u)
}

// TestReleaseWhileReading deletes a Usage when the operator has just started and has not read
// the namespaces yet, one of which it must unlock.
func TestReleaseWhileReading(t *testing.T) {
	first := operator.Start(t)
	w := newWorld(t)
	used := configMap("used")
	w.create(used)
	u := protects("u", named("used"), "precious")
	w.create(u)
	w.ready(u)
	w.locked(w.namespace())
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}

	p := newProxy(t)
	namespaces := p.delay(t, at("/api/v1/namespaces"))
	operator.Start(t, func(o *options.Options) { o.Config = p.config() })
	namespaces.await(t)
	w.Delete(u)
	w.unready(u, "Reading")
	namespaces.letGo()
	w.goneWithin(promptly, u)
	w.free(used, w.namespace())
}
