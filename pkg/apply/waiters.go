package apply

import (
	"slices"

	"github.com/kinship-dev/kinship/pkg/locked"
	"github.com/kinship-dev/kinship/pkg/object"
)

// Waiters are the parents that wait for events of objects which [ParentOf] does not lead to:
// [Foreign] objects that block the parent, or objects of the parent that are being deleted
// ([Terminating]). Waiters is safe for concurrent use. The zero value is empty and ready to use.
type Waiters struct {
	waiting locked.Map[object.ID, []object.ID] // by parent
}

// WaitFor has a parent woken by every event of some objects. WaitFor replaces the objects of an
// earlier call; without objects, the parent waits no longer.
func (w *Waiters) WaitFor(parent object.ID, ids ...object.ID) {
	w.waiting.Update(parent, func([]object.ID, bool) ([]object.ID, bool) { return ids, len(ids) > 0 })
}

// WaitingFor returns the parents that wait for an object, in no particular order.
func (w *Waiters) WaitingFor(id object.ID) []object.ID {
	var parents []object.ID
	for parent, ids := range w.waiting.All() {
		if slices.Contains(ids, id) {
			parents = append(parents, parent)
		}
	}
	return parents
}
