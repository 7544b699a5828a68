package usage

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestEndedEvents: a few protections that end have an event each. A thousand protections have
// one event per namespace, with their number.
func TestEndedEvents(t *testing.T) {
	const burst = 3
	recorder := events.NewFakeRecorder(2000)
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	var later []func()
	e := newEndedEvents(recorder)
	e.limiter = flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(1, burst, clock)
	e.after = func(_ time.Duration, f func()) { later = append(later, f) }
	tell := func(namespace string, n int) {
		for i := range n {
			name := fmt.Sprintf("%s/%d", namespace, i)
			e.record(namespace, &corev1.ConfigMap{}, &corev1.ConfigMap{}, name+" has ended")
		}
	}
	told := func() (all []string) {
		for len(recorder.Events) > 0 {
			all = append(all, <-recorder.Events)
		}
		return all
	}
	const event = "Normal ProtectionEnded "
	tell("a", burst)
	few := []string{event + "a/0 has ended", event + "a/1 has ended", event + "a/2 has ended"}
	if diff := cmp.Diff(few, told()); diff != "" {
		t.Errorf("a few are told one by one (-want +got):\n%s", diff)
	}
	tell("a", 1000)
	tell("b", 1)
	if all := told(); len(all) > 0 || len(later) != 1 {
		t.Fatalf("%d are told one by one, and %d times later: %v", len(all), len(later), all)
	}
	later[0]()
	want := []string{
		event + "a/999 has ended; so did the protection of others in this namespace: 999 times within 1s",
		event + "b/0 has ended",
	}
	if diff := cmp.Diff(want, told()); diff != "" {
		t.Errorf("many are told together (-want +got):\n%s", diff)
	}
	tell("a", 1)
	if len(later) != 2 {
		t.Error("what ends after that is never told")
	}
	clock.SetTime(clock.Now().Add(time.Second))
	tell("c", 1)
	if diff := cmp.Diff([]string{event + "c/0 has ended"}, told()); diff != "" {
		t.Errorf("one by one again (-want +got):\n%s", diff)
	}
}
