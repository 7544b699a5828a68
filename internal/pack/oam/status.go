package oam

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

const (
	// reasonError is the only published reason of an outcome that is not done.
	reasonError = oamv1alpha2.ReasonReconcileError
	// reasonListing is the reason of a wait that ends in a moment, and is not worth a status.
	reasonListing = "Listing"
)

// isPassing reports whether an outcome is not worth a status: the pass is repeated at once.
func isPassing(outcome reconcile.Outcome) bool {
	return outcome.IsSuperseded() || outcome.Worst().Reason == reasonListing
}

// setSynced writes an outcome as the published condition Synced, and leaves other conditions as they
// are.
func setSynced(status *oamv1alpha2.ConditionedStatus, outcome reconcile.Outcome) {
	synced := oamv1alpha2.Condition{
		Type: oamv1alpha2.ConditionSynced, Status: metav1.ConditionTrue,
		Reason: oamv1alpha2.ReasonReconcileSuccess, LastTransitionTime: metav1.Now(),
	}
	if !outcome.IsDone() {
		synced.Status, synced.Reason = metav1.ConditionFalse, reasonError
		synced.Message = strings.ToValidUTF8(outcome.Message(), "")
		synced.Message = synced.Message[:min(len(synced.Message), condition.MaxMessage)]
	}
	i := slices.IndexFunc(status.Conditions, func(c oamv1alpha2.Condition) bool { return c.Type == synced.Type })
	if i < 0 {
		status.Conditions = append(status.Conditions, synced)
		return
	}
	if before := &status.Conditions[i]; before.Status == synced.Status {
		synced.LastTransitionTime = before.LastTransitionTime
	}
	status.Conditions[i] = synced
}
