package external

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
)

func TestResyncDefault(t *testing.T) {
	if got := New(nil, Options{}).Resync; got != 10*time.Minute {
		t.Errorf("resources are compared every %s, want every 10m", got)
	}
}

// TestDue lists when a resource is compared again. 0s means never, and spec.resyncPeriod of an object
// takes precedence over [Options.Resync].
func TestDue(t *testing.T) {
	period := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	cases := map[string]struct {
		reason string
		own    *metav1.Duration
		all    time.Duration
		// early is a time before the comparison, and late a time after the comparison, including the maximum of
		// wait.Jitter.
		early, late time.Duration
	}{
		"nothing said":   {"ten minutes", nil, 0, 10*time.Minute - time.Second, 12 * time.Minute},
		"of all":         {"by the flag", nil, time.Hour, time.Hour - time.Second, 72 * time.Minute},
		"never, of all":  {"less than nothing is never", nil, -1, 1000 * time.Hour, 0},
		"of the object":  {"its own counts", period(time.Minute), time.Hour, time.Minute - time.Second, 72 * time.Second},
		"never":          {"0s", period(0), 0, 1000 * time.Hour, 0},
		"never, but all": {"not even if all others are", period(0), time.Minute, 1000 * time.Hour, 0},
		"but not never":  {"though no others are", period(time.Minute), -1, time.Minute - time.Second, 72 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			clock := clocktesting.NewFakePassiveClock(noon)
			r := &reconciler[*openstackv1alpha1.Network, string]{engine: New(nil, Options{Resync: c.all, Clock: clock})}
			p := &pass[*openstackv1alpha1.Network, string]{record: &record{}}
			p.Object = &openstackv1alpha1.Network{}
			p.Object.Spec.ResyncPeriod = c.own
			r.schedule(p)
			clock.SetTime(noon.Add(c.early))
			if r.isDue(p) {
				t.Errorf("%s: due after %s", c.reason, c.early)
			}
			clock.SetTime(noon.Add(c.late))
			if c.late > 0 && !r.isDue(p) {
				t.Errorf("%s: not due after %s", c.reason, c.late)
			}
		})
	}
}

// TestSettled is the truth table of lastPass.decide: each case in which endIfSettled ends the pass, and
// the neighbouring cases.
func TestSettled(t *testing.T) {
	of := func(status metav1.ConditionStatus, reason string, generation int64) *metav1.Condition {
		return &metav1.Condition{Status: status, Reason: reason, ObservedGeneration: generation}
	}
	const refused, now, before = condition.ReasonInvalidConfiguration, 2, 1
	success := of("False", condition.ReasonSuccess, now)
	serving := of("True", condition.ReasonSuccess, now)
	cases := map[string]struct {
		last lastPass
		want settledness
	}{
		"new":                             {lastPass{nil, nil, true, true}, unsettledBefore},
		"under way":                       {lastPass{of("True", "Progressing", now), serving, true, true}, unsettledBefore},
		"refused":                         {lastPass{of("False", refused, now), nil, true, false}, refusedBefore},
		"refused, spec changed":           {lastPass{of("False", refused, before), nil, true, true}, unsettledBefore},
		"refused, target changed":         {lastPass{of("False", refused, now), nil, false, true}, unsettledBefore},
		"serves":                          {lastPass{success, serving, false, true}, servedBefore},
		"serves, spec changed":            {lastPass{of("False", "Success", before), serving, true, true}, unsettledBefore},
		"serves, target changed":          {lastPass{success, serving, true, false}, unsettledBefore},
		"no condition Available":          {lastPass{success, nil, true, true}, unsettledBefore},
		"Available of another generation": {lastPass{success, of("True", "Success", before), true, true}, unsettledBefore},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.last.decide(now); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
