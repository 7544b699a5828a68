package usage

import (
	"testing"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// TestProblems: a spec that can never work is Invalid, and a kind that may be installed is waited
// for.
func TestProblems(t *testing.T) {
	l := newTestLedger(t)
	cases := map[string]struct {
		reason string
		of, by sharedv1alpha1.Resource
		state  reconcile.State
		text   string
	}{
		"valid": {"two ConfigMaps", named("a"), named("b"), reconcile.Done, ""},
		"of equals by": {
			"no deletion would end it", named("a"), named("a"), reconcile.Invalid, "a resource can't use itself",
		},
		"kind not served": {
			"it may be installed", kind2("example.com/v1", "Tree"), named("b"),
			reconcile.Waiting, "waiting for it to be installed",
		},
		"volatile kind": {
			"a watch would bring every event", kind2("v1", "Event"), named("b"),
			reconcile.Invalid, "are written all the time",
		},
		"webhook configuration": {
			"no webhook is called for one", kind2("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
			named("b"), reconcile.Invalid, "can't be protected",
		},
		"impossible name": {"no object has the name", named("A b"), named("b"), reconcile.Invalid, `the name "A b"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := uses("u")
			u.Namespace, u.Spec.Of, u.Spec.By = "ns", c.of, &c.by
			outcome := problems(u, l.watcher)
			if state := outcome.Worst().State; state != c.state || !containsText(outcome.Message(), c.text) {
				t.Errorf("%s: %s: %s, want %s: %s", c.reason, state, outcome.Message(), c.state, c.text)
			}
		})
	}
}

// TestCheckSpec: two Usages that close a ring are refused, and still protect.
func TestCheckSpec(t *testing.T) {
	r := newRig(t)
	using, used := configMap("using"), configMap("used")
	r.create(using, used)
	forth, back := uses("forth"), uses("back")
	back.Spec.Of, *back.Spec.By = named("using"), named("used")
	r.protect(forth)
	r.ready(forth, "")
	r.protect(back)
	r.ready(back, sharedv1alpha1.ReasonCycle)
	r.locked(using, true)
	r.locked(used, true)
}
