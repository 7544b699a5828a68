package condition_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// texts returns conditions as lines.
func texts(list []metav1.Condition) string {
	lines := make([]string, 0, len(list))
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("%s=%s %s %q %d", c.Type, c.Status, c.Reason, c.Message, c.ObservedGeneration))
	}
	return strings.Join(lines, "\n")
}

const thing = "Thing"

// published is the vocabulary of the API, and summed adds Ready and Drifted.
var (
	published = condition.External{Noun: thing}
	summed    = condition.External{Noun: thing, Summary: true}
)

func TestExternal(t *testing.T) {
	waits := reconcile.Wait("Progressing", "Waiting for Network/n to be created").
		And(reconcile.Wait("Progressing", "Waiting for Project/p to be ready"))
	cases := map[string]struct {
		reason string
		pass   condition.Pass
		want   []string
		ready  string
	}{
		"serves": {
			"done is done",
			condition.Pass{Sight: condition.Serving, Exists: true},
			[]string{`Available=True Success "Thing is available" 7`, `Progressing=False Success "Thing is up to date" 7`},
			`Ready=True Success "Thing is available" 7`,
		},
		"waits": {
			"every wait is a line, in order",
			condition.Pass{Outcome: waits},
			[]string{
				`Available=False Progressing "Waiting for Network/n to be created\nWaiting for Project/p to be ready" 7`,
				`Progressing=True Progressing "Waiting for Network/n to be created\nWaiting for Project/p to be ready" 7`,
			},
			`Ready=False Progressing "Waiting for Network/n to be created\nWaiting for Project/p to be ready" 7`,
		},
		"can't be read": {
			"nobody knows whether it serves",
			condition.Pass{Outcome: reconcile.Fail("TransientError", errors.New("no answer")), Exists: true},
			[]string{`Available=Unknown TransientError "no answer" 7`, `Progressing=True TransientError "no answer" 7`},
			`Ready=False TransientError "no answer" 7`,
		},
		"asked to be patient": {
			"a resource that serves goes on serving while a call is repeated",
			condition.Pass{
				Outcome: reconcile.Retry(time.Second, "TransientError", errors.New("slow down")),
				Sight:   condition.Serving, Exists: true,
			},
			[]string{`Available=True Success "Thing is available" 7`, `Progressing=True TransientError "slow down" 7`},
			`Ready=False TransientError "slow down" 7`,
		},
		"never": {
			"what is final is not Unknown",
			condition.Pass{Outcome: reconcile.Refuse("UnrecoverableError", "gone"), Exists: true},
			[]string{`Available=False UnrecoverableError "gone" 7`, `Progressing=False UnrecoverableError "gone" 7`},
			`Ready=False UnrecoverableError "gone" 7`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.pass.Generation = 7
			for vocabulary, want := range map[condition.External][]string{published: c.want, summed: append(c.want, c.ready)} {
				var list []metav1.Condition
				if !vocabulary.Set(&list, c.pass) {
					t.Error("nothing changed")
				}
				if diff := cmp.Diff(strings.Join(want, "\n"), texts(list)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
				if vocabulary.Set(&list, c.pass) || vocabulary.Amend(&list, nil) {
					t.Error("the same again is a change")
				}
			}
		})
	}
}

// TestExternalDeleting: during a deletion, Available keeps its last value.
func TestExternalDeleting(t *testing.T) {
	var list []metav1.Condition
	summed.Set(&list, condition.Pass{Sight: condition.Serving, Exists: true, Generation: 7})
	summed.Set(&list, condition.Pass{
		Outcome: reconcile.Wait("Progressing", "Waiting for Subnet/s to be deleted"), Deleting: true, Generation: 8,
	})
	want := `Available=True Success "Thing is available" 7
Progressing=True Progressing "Waiting for Subnet/s to be deleted" 8
Ready=False Progressing "Waiting for Subnet/s to be deleted" 8`
	if diff := cmp.Diff(want, texts(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExternalDrifted shows that Drifted exists only with Summary and while a field differs.
func TestExternalDrifted(t *testing.T) {
	serves := condition.Pass{Sight: condition.Serving, Exists: true, Generation: 7}
	drifted := serves
	drifted.Drift = []string{"a is 1, not 2", "b is 3, not 4"}
	const two = `Available=True Success "Thing is available" 7
Progressing=False Success "Thing is up to date" 7`
	const ready = two + "\n" + `Ready=True Success "Thing is available" 7`
	const told = ready + "\n" + `Drifted=True Immutable "Thing differs in what can't be changed: a is 1, not 2, ` +
		`b is 3, not 4. Correct it there, or delete and create the object to have another made" 7`
	for _, c := range []struct {
		vocabulary condition.External
		pass       condition.Pass
		want       string
	}{{published, drifted, two}, {summed, serves, ready}, {summed, drifted, told}} {
		var list []metav1.Condition
		c.vocabulary.Set(&list, c.pass)
		if diff := cmp.Diff(c.want, texts(list)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.vocabulary, diff)
		}
	}
}

// TestExternalAmend converts lists of other writers to the vocabulary.
func TestExternalAmend(t *testing.T) {
	cond := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, ObservedGeneration: 7}
	}
	available := cond("Available", "True", "Success")
	done, failed := cond("Progressing", "False", "Success"), cond("Progressing", "False", "InvalidConfiguration")
	loading := cond("Downloading", "False", "Success")
	ready, drifted := cond("Ready", "True", "Success"), cond("Drifted", "True", "Immutable")
	cases := map[string]struct {
		reason     string
		vocabulary condition.External
		list, want []metav1.Condition
	}{
		"summary is switched off": {
			"users compare whole lists", published,
			[]metav1.Condition{available, done, ready, drifted},
			[]metav1.Condition{available, done},
		},
		"summary is switched on": {
			"no look at the resource is needed", summed,
			[]metav1.Condition{available, done},
			[]metav1.Condition{available, done, ready},
		},
		"summary of what failed for good": {
			"the condition that ended the attempt says why", summed,
			[]metav1.Condition{available, failed},
			[]metav1.Condition{available, failed, cond("Ready", "False", "InvalidConfiguration")},
		},
		"another order": {
			"a kind's own conditions stay behind", published,
			[]metav1.Condition{done, available, loading},
			[]metav1.Condition{available, done, loading},
		},
		"another order behind": {
			"a kind's own conditions stay before", published,
			[]metav1.Condition{loading, done, available},
			[]metav1.Condition{loading, available, done},
		},
		"nothing is known yet": {"no pass has ended", summed, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := texts(c.list)
			if changed := c.vocabulary.Amend(&c.list, nil); changed != (before != texts(c.want)) {
				t.Errorf("a change is %t", changed)
			}
			if diff := cmp.Diff(texts(c.want), texts(c.list)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if c.vocabulary.Amend(&c.list, nil) {
				t.Error("the same again is a change")
			}
		})
	}
}

// TestExternalSpecific shows which reason Progressing has with Specific, and which without.
func TestExternalSpecific(t *testing.T) {
	specific := condition.External{Noun: thing, Specific: true}
	for name, c := range map[string]struct {
		reason              string
		outcome             reconcile.Outcome
		general, particular string
	}{
		"done": {"no outcome has a reason", reconcile.Outcome{}, "Success", "Success"},
		"waits": {
			"a user reads for what the object waits", reconcile.Wait("WaitingForOwner", "w"), "Progressing", "WaitingForOwner",
		},
		"runs": {"the cloud is at work", reconcile.Progress("Creating", "p"), "Progressing", "Creating"},
		"failed": {
			"the reason is the cloud's", reconcile.Fail("QuotaExceeded", errors.New("no")), "TransientError", "QuotaExceeded",
		},
		"failed without a reason": {
			"a condition without a reason is refused by the API server",
			reconcile.Fail("", errors.New("no")), "TransientError", "TransientError",
		},
		"refused": {"both say why", reconcile.Refuse("Immutable", "never"), "Immutable", "Immutable"},
		"waits and failed": {
			"the worst finding decides",
			reconcile.Wait("WaitingForOwner", "w").And(reconcile.Fail("QuotaExceeded", errors.New("no"))),
			"TransientError", "QuotaExceeded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for vocabulary, want := range map[condition.External]string{published: c.general, specific: c.particular} {
				var list []metav1.Condition
				vocabulary.Set(&list, condition.Pass{Outcome: c.outcome})
				if got := list[1]; got.Type != condition.Progressing || got.Reason != want {
					t.Errorf("%s: specific is %t, %s has reason %q, want %q",
						c.reason, vocabulary.Specific, got.Type, got.Reason, want)
				}
			}
		})
	}
}

// TestExternalLacking: a resource that is read and can't be used makes Available False, even during a
// deletion. Before the resource is read, nobody knows.
func TestExternalLacking(t *testing.T) {
	failed := reconcile.Fail("TransientError", errors.New("it is broken"))
	for _, c := range []struct {
		reason string
		pass   condition.Pass
		want   metav1.ConditionStatus
	}{
		{"it was read", condition.Pass{Outcome: failed, Sight: condition.Lacking, Exists: true}, metav1.ConditionFalse},
		{"it was read", condition.Pass{Outcome: failed, Sight: condition.Lacking, Deleting: true}, metav1.ConditionFalse},
		{"there is none", condition.Pass{Outcome: failed}, metav1.ConditionFalse},
		{"it could not be read", condition.Pass{Outcome: failed, Exists: true}, metav1.ConditionUnknown},
		{"it serves on", condition.Pass{Outcome: failed, Sight: condition.Serving, Deleting: true}, metav1.ConditionTrue},
	} {
		list := []metav1.Condition{{Type: condition.Available, Status: metav1.ConditionTrue, Reason: "Success"}}
		published.Set(&list, c.pass)
		if got := list[0].Status; got != c.want {
			t.Errorf("%s: Available of %+v is %s, want %s", c.reason, c.pass, got, c.want)
		}
	}
}

var passes = rapid.Custom(func(t *rapid.T) condition.Pass {
	outcome := rapid.SampledFrom([]reconcile.Outcome{
		{},
		reconcile.Wait("W", "waits"), reconcile.Progress("P", "runs"), reconcile.Fail("F", errors.New("failed")),
		reconcile.Refuse("R", "refused"), reconcile.Retry(time.Second, "T", errors.New("later")),
	})
	sight := rapid.SampledFrom([]condition.Sight{condition.Unread, condition.Lacking, condition.Serving})
	return condition.Pass{
		Outcome:    outcome.Draw(t, "outcome").And(outcome.Draw(t, "another")),
		Sight:      sight.Draw(t, "sight"),
		Exists:     rapid.Bool().Draw(t, "exists"),
		Deleting:   rapid.Bool().Draw(t, "deleting"),
		Drift:      rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "drift"),
		Generation: rapid.Int64Range(1, 3).Draw(t, "generation"),
	}
})

// TestExternalPasses: after any passes, the conditions are in the published order, and Downloading is where it was set:
// before the others, or after Available and Progressing were there. Only a serving
// resource makes an object Ready, and the same pass changes nothing. A switch of Summary and back gives the
// same list.
func TestExternalPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loading := metav1.Condition{Type: "Downloading", Status: metav1.ConditionTrue, Reason: "Success"}
		list, order := []metav1.Condition{loading}, []string{"Downloading", "Available", "Progressing", "Ready", "Drifted"}
		if rapid.Bool().Draw(t, "loads later") {
			list, order = nil, []string{"Available", "Progressing", "Ready", "Drifted", "Downloading"}
		}
		var last condition.Pass
		for _, pass := range rapid.SliceOfN(passes, 1, 4).Draw(t, "passes") {
			summed.Set(&list, pass)
			condition.Set(&list, loading)
			last = pass
		}
		checkConditions(t, list, last, order)
		before := texts(list)
		if summed.Set(&list, last) || texts(list) != before {
			t.Fatalf("the same pass changed\n%s\nto\n%s", before, texts(list))
		}
		published.Amend(&list, last.Drift)
		if strings.Contains(texts(list), "Ready=") || strings.Contains(texts(list), "Drifted=") {
			t.Fatalf("without Summary:\n%s", texts(list))
		}
		if summed.Amend(&list, last.Drift); texts(list) != before {
			t.Fatalf("with Summary again:\n%s\nwant\n%s", texts(list), before)
		}
	})
}

// checkConditions checks the order of conditions, and the conditions Ready, Progressing and Drifted, after a
// pass.
func checkConditions(t *rapid.T, list []metav1.Condition, last condition.Pass, order []string) {
	t.Helper()
	serves := last.Outcome.IsDone() && (last.Sight == condition.Serving || last.Deleting)
	types := make([]string, 0, len(list))
	for _, c := range list {
		types = append(types, c.Type)
		if c.Type == "Ready" && c.Status == metav1.ConditionTrue && !serves {
			t.Fatalf("Ready after %+v", last)
		}
		if c.Type == "Progressing" && c.ObservedGeneration != last.Generation {
			t.Fatalf("Progressing has generation %d after %+v", c.ObservedGeneration, last)
		}
	}
	want := slices.DeleteFunc(order, func(one string) bool { return !slices.Contains(types, one) })
	if !slices.Equal(types, want) || slices.Contains(types, "Drifted") != (len(last.Drift) > 0) {
		t.Fatalf("conditions %v after %+v", types, last)
	}
}

// TestDriftMessage: a message about many fields fits into a condition.
func TestDriftMessage(t *testing.T) {
	long := condition.DriftMessage(thing, slices.Repeat([]string{strings.Repeat("x", 100)}, 100))
	if len(long) > condition.MaxMessage || !strings.HasPrefix(long, "Thing differs in what can't be changed: xxx") {
		t.Errorf("a message of %d bytes begins with %.60q", len(long), long)
	}
}
