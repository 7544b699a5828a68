package usage

import (
	"testing"
)

// TestRemoveFinalizer: a second pass, over a cache that still shows the Usage, sends nothing and
// records no second event.
func TestRemoveFinalizer(t *testing.T) {
	r := newRig(t)
	using, u := configMap("using"), uses("u")
	r.create(using, configMap("used"))
	r.protect(u)
	r.delete(using)
	r.pass(u)
	r.await(u)
	p := r.begin(identify(u), u)
	if outcome := r.removeFinalizer(t.Context(), p); !outcome.IsDone() || r.read(u) {
		t.Fatalf("outcome %q, and the Usage may still exist", outcome.Message())
	}
	again := r.begin(p.id, p.seen)
	if outcome := r.removeFinalizer(t.Context(), again); !outcome.IsDone() || !again.memory.finalized {
		t.Errorf("outcome %q of the second pass", outcome.Message())
	}
	if got := len(r.recorder.Events); got != 1 {
		t.Errorf("%d events, want one ProtectionEnded", got)
	}
}
