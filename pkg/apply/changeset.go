package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Action is the result of Applier.Apply or Applier.Delete for one object.
type Action string

// Actions, in the order in which [ChangeSet.String] lists them.
const (
	// Created means that the object did not exist in Applier.View or the API server.
	Created Action = "created"
	// Updated means that the object differed from Request.Want.
	Updated Action = "updated"
	// Unchanged means that no request was needed, or that the API server changed nothing.
	Unchanged Action = "unchanged"
	// Pruned means that the object was deleted, because Request.Want has the object no longer.
	Pruned Action = "pruned"
	// Kept means that the object is no longer wanted and will be pruned later, because
	// Request.MayPrune returned false.
	Kept Action = "kept"
	// Skipped means that Request.Skip names the object: nothing was done.
	Skipped Action = "skipped"
	// Terminating means that the object has a metadata.deletionTimestamp. Later waves wait until
	// the object is gone.
	Terminating Action = "terminating"
	// Refused means that the API server, an admission webhook or a policy refused the deletion
	// of the object. The next pass tries again.
	Refused Action = "refused"
	// Foreign means that an object of that name exists, and neither Observed.Controller nor
	// Entry.UID says that the object belongs to the parent.
	Foreign Action = "foreign"
	// Failed means that a request failed.
	Failed Action = "failed"
)

var actions = []Action{
	Created, Updated, Unchanged, Pruned, Kept, Skipped, Terminating, Refused, Foreign, Failed,
}

// Change is the Action of one object.
type Change struct {
	ID     object.ID
	Action Action
	// Message is the answer of the API server to a Refused deletion.
	Message string
	// Left says which fields are left to which field managers (Object.Yields, Applier.Rivals), or is empty. All
	// other fields of the object are as wanted.
	Left string
}

// ChangeSet lists the changes of all objects of a parent, in the order of the requests.
type ChangeSet []Change

// Of returns the Change.ID of each object with one of the given actions.
func (s ChangeSet) Of(actions ...Action) []object.ID {
	var ids []object.ID
	for _, c := range s {
		if slices.Contains(actions, c.Action) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Left returns which fields of which objects are left to other field managers (Change.Left), or "".
func (s ChangeSet) Left() string {
	var parts []string
	for _, c := range s {
		if c.Left != "" {
			parts = append(parts, c.ID.Short()+": "+c.Left)
		}
	}
	return strings.Join(parts, "; ")
}

// Changed reports whether an object was [Created], [Updated] or [Pruned].
func (s ChangeSet) Changed() bool { return len(s.Of(Created, Updated, Pruned)) > 0 }

// String returns the set as text, such as "created Deployment/a, Deployment/b; pruned
// Deployment/c". Unchanged objects are counted and not named.
func (s ChangeSet) String() string {
	var parts []string
	for _, action := range actions {
		ids := s.Of(action)
		switch {
		case len(ids) == 0:
		case action == Unchanged:
			parts = append(parts, fmt.Sprintf("%d %s", len(ids), action))
		default:
			parts = append(parts, fmt.Sprintf("%s %s", action, list(ids)))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// listed bounds how many objects ChangeSet.String names per Action.
const listed = 10

func list(ids []object.ID) string {
	names := make([]string, 0, len(ids))
	for _, id := range ids[:min(len(ids), listed)] {
		names = append(names, id.Short())
	}
	text := strings.Join(names, ", ")
	if more := len(ids) - listed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
