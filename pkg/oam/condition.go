package oam

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/condition"
)

// SetSynced writes the condition Synced: True without a message, and False with a message, which
// says why the object is not as its spec requests. SetSynced reports whether the status has
// changed, so that a controller writes only a changed status. lastTransitionTime changes with
// Condition.Status.
func SetSynced(status *oamv1alpha2.ConditionedStatus, message string) bool {
	if message == "" {
		return setSynced(status, metav1.ConditionTrue, oamv1alpha2.ReasonReconcileSuccess, "")
	}
	return setSynced(status, metav1.ConditionFalse, oamv1alpha2.ReasonReconcileError, message)
}

// SetSyncedWithNote writes the condition Synced as True, with a note that is no fault, such as which field of a
// workload is left to a trait. Otherwise SetSyncedWithNote is like SetSynced.
func SetSyncedWithNote(status *oamv1alpha2.ConditionedStatus, note string) bool {
	return setSynced(status, metav1.ConditionTrue, oamv1alpha2.ReasonReconcileSuccess, note)
}

func setSynced(
	status *oamv1alpha2.ConditionedStatus, is metav1.ConditionStatus, reason, message string,
) bool {
	synced := oamv1alpha2.Condition{
		Type: oamv1alpha2.ConditionSynced, Status: is, Reason: reason, LastTransitionTime: metav1.Now(),
		Message: condition.Clip(message),
	}
	i := slices.IndexFunc(status.Conditions, func(c oamv1alpha2.Condition) bool { return c.Type == synced.Type })
	if i < 0 {
		status.Conditions = append(status.Conditions, synced)
		return true
	}
	before := status.Conditions[i]
	if before.Status == synced.Status {
		synced.LastTransitionTime = before.LastTransitionTime
	}
	status.Conditions[i] = synced
	return before != synced
}
