package oam

import (
	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/oam"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

const (
	// reasonError is the only published reason of an outcome that is not done.
	reasonError = oamv1alpha2.ReasonReconcileError
	// reasonPassing is the reason of a wait that usually ends in a moment: the pass writes no
	// status for reasonPassing.
	reasonPassing = "Passing"
)

// isPassing reports whether a pass writes no status for an outcome, because the pass is repeated at
// once.
func isPassing(outcome reconcile.Outcome) bool {
	return outcome.IsSuperseded() || outcome.Worst().Reason == reasonPassing
}

// setSynced writes an outcome as the published condition Synced, and reports whether the condition
// has changed. left says which fields are left to other field managers, and becomes the message of an object that is as
// its spec requests.
func setSynced(status *oamv1alpha2.ConditionedStatus, outcome reconcile.Outcome, left string) bool {
	if outcome.IsDone() {
		return oam.SetSyncedWithNote(status, left)
	}
	return oam.SetSynced(status, outcome.Message())
}
