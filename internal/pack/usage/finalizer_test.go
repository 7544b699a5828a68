package usage

import (
	"strings"
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
	if got := r.recorded("ProtectionEnded"); got != 1 {
		t.Errorf("%d events ProtectionEnded, want 1", got)
	}
}

// recorded returns how many events of a reason were recorded, and drops all events. A pass of
// before may have recorded an event of another reason, such as UsageConfigured.
func (r *rig) recorded(reason string) int {
	n := 0
	for len(r.recorder.Events) > 0 {
		if strings.Contains(<-r.recorder.Events, " "+reason+" ") {
			n++
		}
	}
	return n
}
