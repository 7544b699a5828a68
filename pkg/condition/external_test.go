package condition_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			"a kind's own conditions come first", published,
			[]metav1.Condition{done, available, loading},
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
