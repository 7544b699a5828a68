package usage

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

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
