package apply

import (
	"time"

	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// ObstacleRetry is the pause until the Applier tries again what no event reports: that an admission webhook
// or a policy no longer refuses a deletion, or that a foreign object got another controller.
const ObstacleRetry = time.Minute

// Obstacle returns what a parent of some kind waits for because of a change. The Outcome is done unless the
// object is Foreign, Terminating or Refused.
func (c Change) Obstacle(reason, parent string) reconcile.Outcome {
	switch c.Action {
	case Foreign:
		return reconcile.WaitFor(ObstacleRetry, reason, "existing %s is not controlled by this %s: "+
			"choose another name, or delete the object", c.ID.Short(), parent)
	case Terminating:
		return reconcile.Wait(reason, "waiting until the deleted %s no longer exists", c.ID.Short())
	case Refused:
		return reconcile.WaitFor(ObstacleRetry, reason, "deletion of %s was refused: %s", c.ID.Short(), c.Message)
	default: // Other actions are no obstacles.
		return reconcile.Outcome{}
	}
}
