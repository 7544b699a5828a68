package usage

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// TestAwaitUsing: a deleted Usage waits for the grace period, and without limit if it is composed
// or its using object is being deleted.
func TestAwaitUsing(t *testing.T) {
	cases := map[string]struct {
		reason             string
		composed, deleting bool
		passed             time.Duration
		gone               bool
	}{
		"within the grace period": {"a bulk deletion may reach the using object", false, false, 0, false},
		"after it":                {"a user ends the protection", false, false, 2 * time.Hour, true},
		"composed":                {"the composition deletes the using object, too", true, false, 2 * time.Hour, false},
		"deleting":                {"the using object still needs the used one", false, true, 2 * time.Hour, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			using, u := configMap("using"), uses("u")
			using.Finalizers = []string{"example.com/hold"}
			if c.composed {
				u.Labels = map[string]string{composedLabel: "x"}
			}
			r.create(using, configMap("used"))
			t.Cleanup(func() { r.unhold(using) })
			r.protect(u)
			r.ready(u, "")
			if c.deleting {
				r.delete(using)
			}
			r.delete(u)
			r.clock = clocktesting.NewFakePassiveClock(time.Now().Add(c.passed))
			if exists := r.pass(u); exists == c.gone {
				t.Fatalf("%s: the Usage exists: %t", c.reason, exists)
			}
			if !c.gone {
				r.ready(u, sharedv1alpha1.ReasonWaitingUsingDeleted)
			}
		})
	}
}
