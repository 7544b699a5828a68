package apply

import (
	"slices"
	"sync"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Waiters are the parents that wait for events of objects that are not theirs: Foreign objects that
// block the parent, or objects of the parent that are being deleted. Waiters is safe for concurrent
// use. The zero value is empty and ready to use.
type Waiters struct {
	mu      sync.Mutex
	waiting map[object.ID][]object.ID // by parent
}

// WaitFor has a parent woken by every event of some objects. WaitFor replaces the objects of an
// earlier call; without objects, the parent waits no longer.
func (w *Waiters) WaitFor(parent object.ID, ids ...object.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(ids) == 0 {
		delete(w.waiting, parent)
		return
	}
	if w.waiting == nil {
		w.waiting = map[object.ID][]object.ID{}
	}
	w.waiting[parent] = ids
}

// WaitingFor returns the parents that wait for an object, in no particular order.
func (w *Waiters) WaitingFor(id object.ID) []object.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	var parents []object.ID
	for parent, ids := range w.waiting {
		if slices.Contains(ids, id) {
			parents = append(parents, parent)
		}
	}
	return parents
}
