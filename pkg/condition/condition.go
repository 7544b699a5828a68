package condition

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// MaxMessage bounds a condition's message, in bytes. The API allows 32768; a
// list of a thousand missing objects helps nobody.
const MaxMessage = 4096

// Done is how a condition reads when there is nothing left to do.
type Done struct {
	Reason  string
	Message string
}

// Of returns the condition of a type for an outcome: True when it is done, else
// False with the reason of the worst finding and the messages of all.
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
		c.Message = clip(outcome.Message())
	}
	return c
}

// Set puts conditions into a list and reports whether that changed anything.
func Set(list *[]metav1.Condition, conditions ...metav1.Condition) bool {
	changed := false
	for _, c := range conditions {
		changed = meta.SetStatusCondition(list, c) || changed
	}
	return changed
}

func clip(s string) string {
	const more = " ..."
	if len(s) <= MaxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:MaxMessage-len(more)], "") + more
}
