package iot

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
)

// behindBy returns connectors of version 0, of which some are not Ready.
func behindBy(ready, ailing int) []iotv1alpha1.IotConnector {
	all := make([]iotv1alpha1.IotConnector, ready+ailing)
	for i := range all {
		c := &all[i]
		c.Name, c.Labels = fmt.Sprintf("c%02d", i), map[string]string{"Tier": "AlwaysUpdate"}
		c.Spec.Containers = []iotv1alpha1.Container{{Type: "Normalization", Image: "i"}}
		status := metav1.ConditionTrue
		if i >= ready {
			status = metav1.ConditionFalse
		}
		c.Status.Conditions = []metav1.Condition{{Type: conditionReady, Status: status}}
	}
	return all
}

func never(*iotv1alpha1.IotConnector) bool { return false }

// TestFailures shows which connectors that are stalled a release answers for.
func TestFailures(t *testing.T) {
	cases := map[string]struct {
		reason  string
		mark    string
		version int32
		failed  int
	}{
		"as it was left":     {"the release has changed it", "mine/7", 1, 1},
		"changed since":      {"somebody has, and answers for it", "mine/6", 1, 0},
		"another release's":  {"which counts it", "other/7", 1, 0},
		"never touched":      {"it was as the release asks already", "", 1, 0},
		"not yet touched":    {"it may be mended by the upgrade", "", 0, 0},
		"rolled back":        {"who rolls back says that the upgrade has failed", "mine/6", 0, 1},
		"after another":      {"another release's upgrade was rolled back", "other/6", 0, 0},
		"not to be upgraded": {"it is kept as it is until somebody corrects it", "", -1, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			release := &iotv1alpha1.IotConnectorRelease{ObjectMeta: metav1.ObjectMeta{UID: "mine"}}
			release.Spec.Version = iotv1alpha1.Version1
			release.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"Tier": "AlwaysUpdate"}}
			all := behindBy(1, 1)
			bad := &all[1]
			bad.Generation, bad.Status.ObservedGeneration = 7, 7
			bad.Annotations = map[string]string{iotv1alpha1.AnnotationRelease: c.mark}
			bad.Status.Conditions = append(bad.Status.Conditions,
				metav1.Condition{Type: conditionStalled, Status: metav1.ConditionTrue})
			switch c.version {
			case iotv1alpha1.Version1:
				bad.Spec = iotv1alpha1.IotConnectorSpec{Version: &c.version}
			case -1:
				bad.Spec.Containers[0].Name = bad.Name // Which version 1 can't have.
				// The oldest is tried first.
				bad.CreationTimestamp = metav1.NewTime(all[0].CreationTimestamp.Add(-1))
			}
			p, err := newPlan(release, nil, all, attempts{unseen: never})
			if err != nil {
				t.Fatal(err)
			}
			if len(p.failures) != c.failed || p.stopped() != (c.failed > 0) {
				t.Errorf("%s: failures %v", c.reason, p.failures)
			}
		})
	}
}

// TestChoose shows how many connectors a release upgrades at a time.
func TestChoose(t *testing.T) {
	cases := map[string]struct {
		most          intstr.IntOrString
		paused        bool
		ready, ailing int
		next          []string
	}{
		"a percentage":         {intstr.FromString("10%"), false, 20, 0, []string{"c00", "c01"}},
		"one that rounds up":   {intstr.FromString("10%"), false, 11, 0, []string{"c00", "c01"}},
		"a number":             {intstr.FromInt32(3), false, 20, 0, []string{"c00", "c01", "c02"}},
		"at least one":         {intstr.FromString("1%"), false, 5, 0, []string{"c00"}},
		"paused":               {intstr.FromInt32(3), true, 20, 0, nil},
		"who is down anyway":   {intstr.FromInt32(2), false, 4, 2, []string{"c04", "c05"}},
		"some of them and one": {intstr.FromInt32(2), false, 4, 1, []string{"c00", "c04"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			release := &iotv1alpha1.IotConnectorRelease{}
			release.Spec.Version = iotv1alpha1.Version1
			release.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"Tier": "AlwaysUpdate"}}
			release.Spec.Strategy.MaxUnavailable, release.Spec.Strategy.Paused = &c.most, c.paused
			p, err := newPlan(release, nil, behindBy(c.ready, c.ailing), attempts{unseen: never})
			if err != nil {
				t.Fatal(err)
			}
			next := make([]string, 0, len(p.next))
			for _, u := range p.next {
				next = append(next, u.after.Name)
			}
			if fmt.Sprint(next) != fmt.Sprint(c.next) {
				t.Errorf("upgrades %v, want %v", next, c.next)
			}
		})
	}
}

// TestDenied shows when a denied upgrade is tried again.
func TestDenied(t *testing.T) {
	type (
		release   = iotv1alpha1.IotConnectorRelease
		connector = iotv1alpha1.IotConnector
	)
	cases := map[string]struct {
		reason  string
		passed  time.Duration
		changed func(*release, *connector)
		next    []string
	}{
		"at once":      {"they would say the same", 0, nil, nil},
		"by and by":    {"they may think otherwise", refusedRetry, nil, []string{"c00"}},
		"corrected":    {"another question", 0, func(_ *release, c *connector) { c.Generation++ }, []string{"c00"}},
		"another goal": {"another question", 0, func(r *release, _ *connector) { r.Generation++ }, []string{"c00"}},
		"made anew":    {"another object", 0, func(_ *release, c *connector) { c.UID = "new" }, []string{"c00"}},
		// The release has upgraded c01, and a user has rolled that back.
		"has stopped": {"not for this one", refusedRetry, func(r *release, _ *connector) { r.UID = "mine" }, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			release := &iotv1alpha1.IotConnectorRelease{}
			release.Spec.Version = iotv1alpha1.Version1
			release.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"Tier": "AlwaysUpdate"}}
			all, now := behindBy(2, 0), clocktesting.NewFakePassiveClock(time.Now())
			all[1].Annotations = map[string]string{iotv1alpha1.AnnotationRelease: "mine/2"}
			kept, id := denials{clock: now, all: map[object.ID]map[string]denial{}}, object.ID{Name: "release"}
			kept.add(id, &plan{release: release}, &all[0], "no")
			if next := kept.next(id); next != refusedRetry {
				t.Errorf("asks again after %s", next)
			}
			if c.changed != nil {
				c.changed(release, &all[0])
			}
			now.SetTime(now.Now().Add(c.passed))
			p, err := newPlan(release, nil, all, attempts{unseen: never, denied: kept.of(id, release, all), now: now.Now()})
			if err != nil {
				t.Fatal(err)
			}
			next := make([]string, 0, len(p.next))
			for _, u := range p.next {
				next = append(next, u.after.Name)
			}
			if fmt.Sprint(next) != fmt.Sprint(c.next) {
				t.Errorf("%s: upgrades %v, want %v; failures %v", c.reason, next, c.next, p.failures)
			}
		})
	}
}
