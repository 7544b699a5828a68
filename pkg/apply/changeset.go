package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Action is what was done with an object.
type Action string

// Actions, in the order in which a [ChangeSet] tells of them.
const (
	// Created means that the object was not there.
	Created Action = "created"
	// Updated means that the object was not as wanted.
	Updated Action = "updated"
	// Unchanged means that there was nothing to do.
	Unchanged Action = "unchanged"
	// Pruned means that the object is not wanted any more and was deleted.
	Pruned Action = "pruned"
	// Kept means that the object is not wanted any more and will be pruned later.
	Kept Action = "kept"
	// Terminating means that the object is being deleted, and what comes next has
	// to wait until it is gone.
	Terminating Action = "terminating"
	// Refused means that the object is to go, and somebody does not allow that. It is
	// left for the next time.
	Refused Action = "refused"
	// Foreign means that somebody else's object has the name.
	Foreign Action = "foreign"
	// Failed means that a request failed.
	Failed Action = "failed"
)

var actions = []Action{Created, Updated, Unchanged, Pruned, Kept, Terminating, Refused, Foreign, Failed}

// Change is what was done with one object.
type Change struct {
	ID     object.ID
	Action Action
	// Message is what whoever has Refused it says.
	Message string
}

// ChangeSet is what was done with all objects of a parent, in the order in which
// it was done.
type ChangeSet []Change

// Of returns the objects with which one of some things was done.
func (s ChangeSet) Of(actions ...Action) []object.ID {
	var ids []object.ID
	for _, c := range s {
		if slices.Contains(actions, c.Action) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Changed reports whether anything in the cluster was changed.
func (s ChangeSet) Changed() bool { return len(s.Of(Created, Updated, Pruned)) > 0 }

// String returns the set for people, such as "created Deployment/a, Deployment/b;
// pruned Deployment/c". What is unchanged is only counted.
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

// listed bounds how many objects a text names.
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
