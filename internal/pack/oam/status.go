package oam

import (
	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/oam"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// reasonError is the only published reason of an outcome that is not done.
const reasonError = oamv1alpha2.ReasonReconcileError

// setSynced writes an outcome as the published condition Synced, and reports whether the condition
// has changed. left says which fields are left to other field managers, and becomes the message of an object that is as
// its spec requests.
func setSynced(status *oamv1alpha2.ConditionedStatus, outcome reconcile.Outcome, left string) bool {
	if outcome.IsDone() {
		return oam.SetSyncedWithNote(status, left)
	}
	return oam.SetSynced(status, outcome.Message())
}
