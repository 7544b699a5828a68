package usage

import (
	"testing"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
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
