package usage_test

import (
	"fmt"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// testRelease: after the deletion of the using object, the used object can be deleted at once.
func testRelease(t *testing.T) {
	w := newWorld(t)
	used, using := configMap("used"), configMap("using")
	w.create(used, using)
	u := uses("u", named("using"), named("used"))
	w.create(u)
	w.ready(u)
	w.refused(used)
	w.Delete(using)
	w.goneWithin(promptly, u)
	testenv.EventuallyWithin(t, promptly, func() error { return w.C.Delete(t.Context(), used) })
}

// testReleaseWithTheLast: one of two users is deleted; the refusal names the other user.
func testReleaseWithTheLast(t *testing.T) {
	w := newWorld(t)
	used, first, second := configMap("used"), configMap("first"), configMap("second")
	w.create(used, first, second)
	u1, u2 := uses("u1", named("first"), named("used")), uses("u2", named("second"), named("used"))
	w.create(u1, u2)
	w.ready(u1, u2)
	w.Delete(first)
	w.goneWithin(promptly, u1)
	want := fmt.Sprintf("The resource is used by 1 resource(s): ConfigMap/second (Usage u2 in namespace %s).", w.NS)
	if got := w.refused(used); got != want {
		t.Errorf("refused with %q, want %q", got, want)
	}
	w.Delete(second)
	w.goneWithin(promptly, u2)
	w.free(used)
}

// finalizer keeps an object whose deletion has begun, as a provider does.
const finalizer = "usage.test/hold"

// testBulk: everything is deleted at once, the Usage first, as GitOps tools do.
// The using object takes longer to go than the grace period lasts.
func testBulk(t *testing.T) {
	w := newWorld(t)
	used, using := configMap("used"), configMap("using")
	using.Finalizers = []string{finalizer}
	w.create(used, using)
	u := uses("u", named("using"), named("used"))
	w.create(u)
	w.ready(u)
	w.Delete(u)
	w.refused(used)
	w.Delete(using)
	w.refused(used)
	w.unready(u, "WaitingUsingDeleted")
	w.told(u, "WaitingUsingDeleted")

	// Another Usage, which nothing happens to, outlives its grace period after ours.
	other := configMap("other")
	w.create(other)
	lone := uses("lone", named("other"), named("used"))
	w.create(lone)
	w.ready(lone)
	w.Delete(lone)
	w.Gone(lone)

	w.refused(used)
	w.Update(using, func() { using.Finalizers = nil })
	w.goneWithin(promptly, u)
	w.free(used)
	w.Delete(used)
}

// testLift: a person lifts a protection by deleting the Usage, and nothing else.
func testLift(t *testing.T) {
	w := newWorld(t)
	used, using := configMap("used"), configMap("using")
	w.create(used, using)
	u := uses("u", named("using"), named("used"))
	w.create(u)
	w.ready(u)
	w.Delete(u)
	w.refused(used) // A deletion of the using object might still arrive.
	w.unready(u, "WaitingUsingDeleted")
	w.goneWithin(longGrace+promptly, u)
	w.free(used)
	w.Delete(used)
	w.Exists(using)
}

// testLiftReason: without a using object there is nothing to wait for.
func testLiftReason(t *testing.T) {
	w := newWorld(t)
	used := configMap("used")
	w.create(used)
	u := protects("u", named("used"), "precious")
	w.create(u)
	w.ready(u)
	w.Delete(u)
	w.goneWithin(promptly, u)
	testenv.EventuallyWithin(t, promptly, func() error { return w.C.Delete(t.Context(), used) })
}

// testComposed: a composed Usage waits for its using object, however long.
func testComposed(t *testing.T) {
	w := newWorld(t)
	used, using := configMap("used"), configMap("using")
	w.create(used, using)
	u, lone := composed(uses("u", named("using"), named("used"))), uses("lone", named("using"), named("used"))
	w.create(u, lone)
	w.ready(u, lone)
	w.Delete(u, lone)
	w.Gone(lone) // The grace period is over.
	if message := w.unready(u, "WaitingUsingDeleted"); message != "waiting for ConfigMap/using in namespace "+w.NS+" to be deleted" {
		t.Errorf("message is %q", message)
	}
	w.refused(used)
	w.Delete(using)
	w.goneWithin(promptly, u)
	w.free(used)
}

// testTogether: pairs of Usages of one object are deleted at the same moment.
func testTogether(t *testing.T) {
	w := newWorld(t)
	const pairs = 50
	var objects []client.Object
	var usages []usage
	for i := range pairs {
		cm := configMap(fmt.Sprintf("used-%d", i))
		w.create(cm)
		objects = append(objects, cm)
		for _, side := range []string{"a", "b"} {
			u := protects(cm.Name+side, named(cm.Name), "precious")
			w.create(u)
			usages = append(usages, u)
		}
	}
	w.ready(usages...)
	w.locked(objects...)
	var deleting sync.WaitGroup
	for _, u := range usages {
		deleting.Go(func() {
			if err := w.C.Delete(t.Context(), u); err != nil {
				t.Error(err)
			}
		})
	}
	deleting.Wait()
	for _, u := range usages {
		w.Gone(u)
	}
	// A Usage goes only after its lock: no waiting here.
	for _, obj := range objects {
		if err := w.Read(obj); err != nil || obj.GetLabels()[lock] != "" {
			t.Errorf("%s: labels %v, error %v, want no lock", obj.GetName(), obj.GetLabels(), err)
		}
	}
}

// testTakenOver: one Usage is deleted while another Usage is created. A Ready Usage always
// protects.
func testTakenOver(t *testing.T) {
	w := newWorld(t)
	used := configMap("used")
	w.create(used)
	last := protects("u0", named("used"), "precious")
	w.create(last)
	w.ready(last)
	for i := range 20 {
		next := protects(fmt.Sprintf("u%d", i+1), named("used"), "precious")
		var both sync.WaitGroup
		both.Go(func() {
			if err := w.C.Delete(t.Context(), last); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := w.tryCreate(next); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		w.ready(next)
		w.refused(used)
		w.Gone(last)
		w.refused(used)
		last = next
	}
}

// testForegroundUsing: a using object is deleted in the foreground after its Usage, and the
// Usage waits for it. The garbage collector deletes the Usage, unless the collector is late:
// nothing blocks the using object, so its deletion may end before that.
func testForegroundUsing(t *testing.T) {
	w := newWorld(t)
	used, using := configMap("used"), configMap("using")
	using.Finalizers = []string{finalizer}
	w.create(used, using)
	u := uses("u", named("using"), named("used"))
	w.create(u)
	w.ready(u)
	if err := w.C.Delete(t.Context(), using, client.PropagationPolicy("Foreground")); err != nil {
		t.Fatal(err)
	}
	if err := w.C.Delete(t.Context(), u); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	w.unready(u, "WaitingUsingDeleted")
	w.refused(used)
	w.Update(using, func() { using.Finalizers = nil })
	w.goneWithin(promptly, u)
	w.Gone(using)
	w.free(used)
	w.told(used, "ProtectionEnded")
}

// testUnready: the deletion of a missing object is answered with not found, with or without
// protection.
func testMissingDelete(t *testing.T) {
	w := newWorld(t)
	u := protects("u", named("never"), "precious")
	w.create(u)
	w.unready(u, "UsedNotFound")
	never := configMap("never")
	never.Namespace = w.NS
	if err := w.C.Delete(t.Context(), never); !apierrors.IsNotFound(err) {
		t.Errorf("answered with %v, want not found", err)
	}
}
