package usage

import (
	"testing"

	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// TestSetConditions is the truth table of Ready and Effective.
func TestSetConditions(t *testing.T) {
	waiting := reconcile.Wait("Waiting", "waiting for x")
	cases := map[string]struct {
		outcome          reconcile.Outcome
		locked           bool
		ready, effective string
	}{
		"done":                {reconcile.Outcome{}, true, "Available", "Locked"},
		"done, not locked":    {reconcile.Outcome{}, false, "Available", "Locking"},
		"waiting, locked":     {waiting, true, "Waiting", "Locked"},
		"waiting, not locked": {waiting, false, "Waiting", "Waiting"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := uses("u")
			setConditions(u, c.outcome, c.locked)
			if got := u.Status.Conditions; got[0].Reason != c.ready || got[1].Reason != c.effective {
				t.Errorf("Ready %s, Effective %s, want %s and %s", got[0].Reason, got[1].Reason, c.ready, c.effective)
			}
		})
	}
}

// TestPassesUntilReady: without a webhook a Usage needs two passes, and a third pass writes
// nothing.
func TestPassesUntilReady(t *testing.T) {
	r := newRig(t)
	r.create(configMap("using"), configMap("used"))
	u := uses("u")
	r.protect(u)
	r.ready(u, "")
	before := u.ResourceVersion
	if r.pass(u); u.ResourceVersion != before {
		t.Error("a pass over a Ready Usage writes")
	}
}
