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
	synced := oamv1alpha2.Condition{
		Type: oamv1alpha2.ConditionSynced, Status: metav1.ConditionTrue,
		Reason: oamv1alpha2.ReasonReconcileSuccess, LastTransitionTime: metav1.Now(),
	}
	if message != "" {
		synced.Status, synced.Reason = metav1.ConditionFalse, oamv1alpha2.ReasonReconcileError
		synced.Message = condition.Clip(message)
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
