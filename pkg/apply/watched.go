package apply

import (
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Watched is a [View] of the kinds that a [relation.Watcher] watches, for objects of kinds that are
// known at run time only. [relation.Watcher.Keep] MUST keep the fields that [Trim] keeps.
type Watched struct{ *relation.Watcher }

// Get implements [View].
func (w Watched) Get(id object.ID, fieldOwner string) (Observed, bool) {
	obj, presence := w.Watcher.Get(id)
	if presence != relation.Present || obj.Content == nil {
		return Observed{}, false
	}
	return Observe(obj.Content, fieldOwner), true
}

// Concerns reports whether a change of an object concerns its parent: the object was created or
// deleted, or its [Observed] has changed. Events of own writes concern the parent too.
func Concerns(c relation.Change) bool {
	if c.Old == nil || c.New == nil || c.Old.Content == nil || c.New.Content == nil {
		return true
	}
	return !isSame(c.Old.Content, c.New.Content)
}
