package condition

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/redact"
)

// MaxMessage bounds a condition's message, in bytes. The Kubernetes API allows 32768 bytes, but a
// list of 1000 missing objects is too long for `kubectl describe`.
const MaxMessage = 4096

// Done is reason and message of a condition if Outcome.IsDone is true.
type Done struct {
	Reason  string
	Message string
}

// Of returns the condition of a type for an outcome. The condition is True if Outcome.IsDone is
// true, and otherwise False with the reason of Outcome.Worst and the messages of all findings.
func Of(conditionType string, outcome reconcile.Outcome, done Done, generation int64) metav1.Condition {
	c := metav1.Condition{
		Type:               conditionType,
		Status:             metav1.ConditionTrue,
		Reason:             done.Reason,
		Message:            done.Message,
		ObservedGeneration: generation,
	}
	if !outcome.IsDone() {
		c.Status = metav1.ConditionFalse
		c.Reason = outcome.Worst().Reason
		c.Message = Clip(outcome.Message())
	}
	return c
}

// Set adds or replaces conditions, as meta.SetStatusCondition does, and reports whether the list
// has changed.
func Set(list *[]metav1.Condition, conditions ...metav1.Condition) bool {
	changed := false
	for _, c := range conditions {
		changed = meta.SetStatusCondition(list, c) || changed
	}
	return changed
}

// Clip returns a message of at most MaxMessage bytes. The end of a longer message becomes " ...". Clip calls
// redact.Text: the text may be of a user, of another controller or of a cloud.
func Clip(s string) string { return clip(s, MaxMessage) }

// ClipNote is like Clip, for the note of an event: the Kubernetes API allows 1024 bytes.
func ClipNote(s string) string { return clip(s, 1024) }

func clip(s string, limit int) string {
	const more = " ..."
	s = redact.Text(s)
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len(more)], "") + more
}
