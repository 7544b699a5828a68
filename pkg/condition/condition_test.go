package condition_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

var available = condition.Done{Reason: "Available", Message: "It is there."}

func TestOf(t *testing.T) {
	waiting := reconcile.Wait("NotFound", "waiting for Network/net1")
	cases := map[string]struct {
		reason  string
		outcome reconcile.Outcome
		want    metav1.Condition
	}{
		"done": {
			"the words of whoever is done",
			reconcile.Outcome{},
			metav1.Condition{
				Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: 7,
				Reason: "Available", Message: "It is there.",
			},
		},
		"waiting": {
			"never Unknown: that it waits is known", waiting,
			metav1.Condition{
				Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: 7,
				Reason: "NotFound", Message: "waiting for Network/net1",
			},
		},
		"several": {
			"the reason of the worst, the messages of all", waiting.And(reconcile.Fail("Failed", errors.New("no answer"))),
			metav1.Condition{
				Type: "Ready", Status: metav1.ConditionFalse, Reason: "Failed", ObservedGeneration: 7,
				Message: "no answer; waiting for Network/net1",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, condition.Of("Ready", c.outcome, available, 7)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestMessageIsClipped(t *testing.T) {
	const more = " ..."
	cases := map[string]struct {
		reason  string
		message string
		want    string
	}{
		"fits": {
			"it has just the length allowed",
			strings.Repeat("x", condition.MaxMessage), strings.Repeat("x", condition.MaxMessage),
		},
		"one too long": {
			"the end says that there is more", strings.Repeat("x", condition.MaxMessage+1),
			strings.Repeat("x", condition.MaxMessage-len(more)) + more,
		},
		"within a rune": {
			"half a rune is no text", strings.Repeat("x", condition.MaxMessage-len(more)-1) + strings.Repeat("\u00e9", 10),
			strings.Repeat("x", condition.MaxMessage-len(more)-1) + more,
		},
		"between runes": {
			"a whole rune stays", strings.Repeat("\u00e9", condition.MaxMessage),
			strings.Repeat("\u00e9", (condition.MaxMessage-len(more))/2) + more,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := condition.Of("Ready", reconcile.Wait("R", "%s", c.message), available, 1).Message
			if got != c.want {
				t.Errorf("%s: %d bytes, ends with %q; want %d bytes", c.reason, len(got), got[len(got)-10:], len(c.want))
			}
		})
	}
}

// FuzzMessage: a message is valid text of limited length, and begins with the given text.
func FuzzMessage(f *testing.F) {
	f.Add("waiting", 1)
	f.Add("\u00e9", 3000)
	f.Add("\xff\xf0\x9f", 2000)
	f.Fuzz(func(t *testing.T, text string, times int) {
		if len(text) > 100 {
			return
		}
		message := strings.Repeat(text, min(max(times, 0), 10000))
		got := condition.Of("Ready", reconcile.Wait("R", "%s", message), available, 1).Message
		if len(got) > condition.MaxMessage {
			t.Errorf("%d bytes", len(got))
		}
		if utf8.ValidString(message) && !utf8.ValidString(got) {
			t.Errorf("clipping broke a rune: %q", got[max(0, len(got)-10):])
		}
		if utf8.ValidString(message) && !strings.HasPrefix(message, strings.TrimSuffix(got, " ...")) {
			t.Error("it does not begin as it was given")
		}
	})
}

func TestSet(t *testing.T) {
	before := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	list := []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: before}, {
		Type: "Ready", Status: metav1.ConditionFalse, Reason: "NotFound", Message: "m", ObservedGeneration: 1,
		LastTransitionTime: before,
	}}
	other := list[0]
	ready := func(status metav1.ConditionStatus, reason, message string, generation int64) metav1.Condition {
		return metav1.Condition{
			Type: "Ready", Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
		}
	}
	steps := []struct {
		reason         string
		set            metav1.Condition
		changed, moved bool
	}{
		{"it is so already", ready(metav1.ConditionFalse, "NotFound", "m", 1), false, false},
		{"another message", ready(metav1.ConditionFalse, "NotFound", "n", 1), true, false},
		{"another reason", ready(metav1.ConditionFalse, "Failed", "n", 1), true, false},
		{"another generation", ready(metav1.ConditionFalse, "Failed", "n", 2), true, false},
		{"another status", ready(metav1.ConditionTrue, "Available", "", 2), true, true},
		{"it is so already", ready(metav1.ConditionTrue, "Available", "", 2), false, false},
	}
	for _, s := range steps {
		last := list[1].LastTransitionTime
		if got := condition.Set(&list, s.set); got != s.changed {
			t.Errorf("%s: changed %t", s.reason, got)
		}
		if moved := !list[1].LastTransitionTime.Equal(&last); moved != s.moved {
			t.Errorf("%s: transition time moved: %t", s.reason, moved)
		}
		s.set.LastTransitionTime = list[1].LastTransitionTime
		if diff := cmp.Diff([]metav1.Condition{other, s.set}, list); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.reason, diff)
		}
	}
}

// TestSetSeveral: any single change among several conditions counts as a change.
func TestSetSeveral(t *testing.T) {
	yes := metav1.Condition{Type: "A", Status: metav1.ConditionTrue, Reason: "R"}
	also := metav1.Condition{Type: "B", Status: metav1.ConditionTrue, Reason: "R"}
	var list []metav1.Condition
	if !condition.Set(&list, yes, also) || len(list) != 2 {
		t.Fatalf("%d conditions", len(list))
	}
	if condition.Set(&list, yes, also) {
		t.Error("nothing has changed")
	}
	no := yes
	no.Status = metav1.ConditionFalse
	if !condition.Set(&list, no, also) || !condition.Set(&list, yes, also) {
		t.Error("the first has changed")
	}
}

func TestNoteIsClipped(t *testing.T) {
	long := strings.Repeat("x", 1025)
	if got := condition.ClipNote(long); len(got) != 1024 || !strings.HasSuffix(got, "x ...") {
		t.Errorf("the note has %d bytes and ends with %q", len(got), got[len(got)-8:])
	}
	if got := condition.ClipNote(long[1:]); got != long[1:] {
		t.Error("a note that fits was clipped")
	}
}
