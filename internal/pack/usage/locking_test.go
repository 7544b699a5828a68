package usage

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// unconfirmed is a confirmer of an API server that does not call the webhook yet.
type unconfirmed struct{ confirmed }

func (unconfirmed) Confirmed(relation.Object) bool { return false }

// TestLockUsed: a Usage waits for the used object, locks it, and is not Effective before the
// API server is known to refuse.
func TestLockUsed(t *testing.T) {
	r := newRig(t)
	r.create(configMap("using"))
	u := uses("u")
	r.protect(u)
	r.ready(u, sharedv1alpha1.ReasonUsedNotFound)
	used := configMap("used")
	r.create(used)
	r.rules = unconfirmed{}
	r.pass(u)
	r.ready(u, "")
	r.locked(used, true)
	if c := u.Status.Conditions[1]; c.Reason != sharedv1alpha1.ReasonLocking {
		t.Errorf("condition is %+v, want reason Locking", c)
	}
	r.rules = confirmed{}
	r.pass(u)
	if c := u.Status.Conditions[1]; c.Reason != sharedv1alpha1.ReasonLocked {
		t.Errorf("condition is %+v, want reason Locked", c)
	}
}

// TestLockUsedSet: with matchAll every object that matches is locked.
func TestLockUsedSet(t *testing.T) {
	r := newRig(t)
	r.create(configMap("using"))
	a, b := configMap("a"), configMap("b")
	a.Labels, b.Labels = map[string]string{"app": "x"}, map[string]string{"app": "x"}
	r.create(a, b)
	u := uses("u")
	u.Spec.Of.ResourceRef, u.Spec.Of.ResourceSelector = nil, &sharedv1alpha1.ResourceSelector{
		MatchLabels: map[string]string{"app": "x"}, MatchAll: new(true),
	}
	r.protect(u)
	r.ready(u, "")
	r.locked(a, true)
	r.locked(b, true)
}

// TestLockBatch: one pass locks at most lockBatch objects of a set, and the last pass makes the Usage Ready. When the
// Usage is deleted, one pass unlocks at most as many.
func TestLockBatch(t *testing.T) {
	const members = 2*lockBatch + 1
	r := newRig(t)
	for i := range members {
		member := configMap(fmt.Sprint("member-", i))
		member.Labels = map[string]string{"app": "x"}
		r.create(member)
	}
	u := uses("u")
	u.Spec.Of.ResourceRef, u.Spec.Of.ResourceSelector = nil, &sharedv1alpha1.ResourceSelector{
		MatchLabels: map[string]string{"app": "x"}, MatchAll: new(true),
	}
	u.Spec.By, u.Spec.Reason = nil, new("kept")
	r.create(u)
	if r.pass(u); r.countLocked() == 0 { // The cache did not show the finalizer in the pass that added it.
		r.pass(u)
	}
	if n := r.countLocked(); n != lockBatch {
		t.Fatalf("the first pass locked %d objects, want %d", n, lockBatch)
	}
	if c := u.Status.Conditions[1]; c.Reason != sharedv1alpha1.ReasonLocking {
		t.Errorf("condition is %+v, want reason Locking", c)
	}
	r.pass(u)
	r.pass(u)
	r.ready(u, "")
	if n := r.countLocked(); n != members {
		t.Errorf("%d objects are locked, want %d", n, members)
	}
	r.delete(u)
	for left := members - lockBatch; left > 0; left -= lockBatch {
		if !r.pass(u) {
			t.Fatalf("the Usage is gone, and %d objects are to be unlocked", left)
		}
		if n := r.countLocked(); n != left {
			t.Fatalf("%d objects are locked, want %d", n, left)
		}
		r.settle()
	}
	if r.pass(u) || r.countLocked() != 0 {
		t.Errorf("%d objects are locked after the last pass", r.countLocked())
	}
}

// settle waits until the Watcher shows the locks as they are.
func (r *rig) settle() {
	r.t.Helper()
	testenv.Eventually(r.t, func() error {
		marked := len(r.ledger.Marked(object.ID{Kind: "ConfigMap"}.GroupKind(), r.ns))
		if n := r.countLocked(); n != marked {
			return fmt.Errorf("%d objects are locked, and the watcher shows %d", n, marked)
		}
		return nil
	})
}

// countLocked returns how many ConfigMaps of the namespace the API server has with the lock.
func (r *rig) countLocked() int {
	r.t.Helper()
	var list corev1.ConfigMapList
	locked := client.MatchingLabels{lockLabel: lockValue}
	if err := r.c.List(r.t.Context(), &list, client.InNamespace(r.ns), locked); err != nil {
		r.t.Fatal(err)
	}
	return len(list.Items)
}

// TestUnlockUsed: the lock is removed with the last Usage of an object, and the finalizer with it.
func TestUnlockUsed(t *testing.T) {
	r := newRig(t)
	used, first, last := configMap("used"), uses("first"), uses("last")
	r.create(configMap("using"), used)
	r.protect(first)
	r.protect(last)
	r.clock = clocktesting.NewFakePassiveClock(time.Now().Add(2 * time.Hour))
	r.delete(first)
	if r.pass(first) {
		t.Error("Usage first still exists")
	}
	r.locked(used, true)
	r.delete(last)
	if r.pass(last) {
		t.Error("Usage last still exists")
	}
	r.locked(used, false)
}
