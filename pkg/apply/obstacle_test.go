package apply_test

import (
	"testing"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
)

// TestObstacle says what a parent waits for, and when the parent tries again without an event.
func TestObstacle(t *testing.T) {
	id := object.ID{Group: "apps", Kind: "Deployment", Namespace: "n", Name: "web"}
	for _, c := range []struct {
		change  apply.Change
		message string
		retries bool
	}{
		{apply.Change{ID: id, Action: apply.Unchanged}, "", false},
		{apply.Change{ID: id, Action: apply.Kept}, "", false},
		{
			apply.Change{ID: id, Action: apply.Foreign},
			"existing Deployment/web is not controlled by this App: choose another name, or delete the object", true,
		},
		{apply.Change{ID: id, Action: apply.Updated, Left: "a is left to b"}, "", false},
		{apply.Change{ID: id, Action: apply.Terminating}, "waiting until the deleted Deployment/web no longer exists", false},
		{
			apply.Change{ID: id, Action: apply.Refused, Message: "in use"},
			"deletion of Deployment/web was refused: in use", true,
		},
	} {
		got := c.change.Obstacle("Blocked", "App")
		result, err := got.Result()
		if got.Message() != c.message || got.IsDone() != (c.message == "") || err != nil {
			t.Errorf("%s: outcome %q, error %v, want %q", c.change.Action, got.Message(), err, c.message)
		}
		if retries := result.RequeueAfter == apply.ObstacleRetry; retries != c.retries {
			t.Errorf("%s: tried again after %s", c.change.Action, result.RequeueAfter)
		}
	}
}
