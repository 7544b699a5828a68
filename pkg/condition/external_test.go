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

func TestSetExternal(t *testing.T) {
	waits := reconcile.Wait("Progressing", "Waiting for Network/n to be created").
		And(reconcile.Wait("Progressing", "Waiting for Project/p to be ready"))
	cases := map[string]struct {
		reason  string
		outcome reconcile.Outcome
		sight   condition.Sight
		exists  bool
		want    []string
	}{
		"serves": {
			"done is done",
			reconcile.Outcome{},
			condition.Serving, true,
			[]string{
				`Available=True Success "Thing is available" 7`, `Progressing=False Success "Thing is up to date" 7`,
				`Ready=True Success "Thing is available" 7`,
			},
		},
		"waits": {
			"every wait is a line, in order", waits, condition.Unread, false,
			[]string{
				`Available=False Progressing "Waiting for Network/n to be created\nWaiting for Project/p to be ready" 7`,
				`Progressing=True Progressing "Waiting for Network/n to be created\nWaiting for Project/p to be ready" 7`,
				`Ready=False Progressing "Waiting for Network/n to be created\nWaiting for Project/p to be ready" 7`,
			},
		},
		"can't be read": {
			"nobody knows whether it serves", reconcile.Fail("TransientError", errors.New("no answer")), condition.Unread, true,
			[]string{
				`Available=Unknown TransientError "no answer" 7`, `Progressing=True TransientError "no answer" 7`,
				`Ready=False TransientError "no answer" 7`,
			},
		},
		"asked to be patient": {
			"a moment is named, and nothing is an error",
			reconcile.Retry(time.Second, "TransientError", errors.New("slow down")), condition.Serving, true,
			[]string{
				`Available=True Success "Thing is available" 7`, `Progressing=True TransientError "slow down" 7`,
				`Ready=False TransientError "slow down" 7`,
			},
		},
		"never": {
			"what is final is not Unknown", reconcile.Refuse("UnrecoverableError", "gone"), condition.Unread, true,
			[]string{
				`Available=False UnrecoverableError "gone" 7`, `Progressing=False UnrecoverableError "gone" 7`,
				`Ready=False UnrecoverableError "gone" 7`,
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var list []metav1.Condition
			if !condition.SetExternal(&list, "Thing", c.outcome, c.sight, c.exists, 7) {
				t.Error("nothing changed")
			}
			if diff := cmp.Diff(strings.Join(c.want, "\n"), texts(list)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if condition.SetExternal(&list, "Thing", c.outcome, c.sight, c.exists, 7) {
				t.Error("the same again is a change")
			}
		})
	}
}

// TestSetDeleting keeps what was last seen.
func TestSetDeleting(t *testing.T) {
	var list []metav1.Condition
	condition.SetExternal(&list, "Thing", reconcile.Outcome{}, condition.Serving, true, 7)
	condition.SetDeleting(&list, "Thing", reconcile.Wait("Progressing", "Waiting for Subnet/s to be deleted"), 8)
	want := `Available=True Success "Thing is available" 7
Progressing=True Progressing "Waiting for Subnet/s to be deleted" 8
Ready=False Progressing "Waiting for Subnet/s to be deleted" 8`
	if diff := cmp.Diff(want, texts(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSetDrifted tells only while there is something to tell.
func TestSetDrifted(t *testing.T) {
	var list []metav1.Condition
	if condition.SetDrifted(&list, "Thing", nil, 7) || len(list) > 0 {
		t.Errorf("nothing has drifted, and it says %s", texts(list))
	}
	for _, changed := range []bool{true, false} {
		if condition.SetDrifted(&list, "Thing", []string{"a is 1, not 2", "b is 3, not 4"}, 7) != changed {
			t.Errorf("a change is %t, want %t", !changed, changed)
		}
	}
	want := `Drifted=True Immutable "Thing differs in what can't be changed: a is 1, not 2, b is 3, not 4. ` +
		`Correct it there, or delete and create the object to have another made" 7`
	if diff := cmp.Diff(want, texts(list)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !condition.SetDrifted(&list, "Thing", nil, 7) || len(list) > 0 {
		t.Errorf("it is undone, and it says %s", texts(list))
	}
}
