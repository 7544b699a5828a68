package external

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
)

func TestResyncDefault(t *testing.T) {
	if got := New(nil, Options{}).Resync; got != 10*time.Minute {
		t.Errorf("resources are compared every %s, want every 10m", got)
	}
}

// TestDue tells when a resource is compared again: 0s is never, and said of an object it
// counts more than what is said of all.
func TestDue(t *testing.T) {
	period := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	cases := map[string]struct {
		reason string
		own    *metav1.Duration
		all    time.Duration
		// early is when it is not due yet, and late when it is, with all that chance adds.
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
			p := &pass[*openstackv1alpha1.Network, string]{memory: &memory{}}
			p.Object = &openstackv1alpha1.Network{}
			p.Object.Spec.ResyncPeriod = c.own
			r.schedule(p)
			clock.SetTime(noon.Add(c.early))
			if r.due(p) {
				t.Errorf("%s: due after %s", c.reason, c.early)
			}
			clock.SetTime(noon.Add(c.late))
			if c.late > 0 && !r.due(p) {
				t.Errorf("%s: not due after %s", c.reason, c.late)
			}
		})
	}
}
