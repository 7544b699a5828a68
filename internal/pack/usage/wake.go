package usage

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// objectChanged wakes the Usages and locks that a change can affect.
func (l *ledger) objectChanged(c relation.Change) {
	l.noteEnd(c) // Before somebody is woken by it.
	l.Changed(c)
	for _, id := range l.looking(c) {
		l.Declarer(id)
	}
}

// looking returns the Usages with a selector that may choose an object now, and could
// not before.
func (l *ledger) looking(c relation.Change) []object.ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []object.ID
	for id, refs := range l.unresolved[c.Object().ID.GroupKind()] {
		if slices.ContainsFunc(refs, func(ref relation.Ref) bool { return choosable(ref, c.New) && !choosable(ref, c.Old) }) {
			found = append(found, id)
		}
	}
	return found
}

// choosable reports whether an object is one of those of which a selector chooses.
func choosable(ref relation.Ref, obj *relation.Object) bool {
	return obj != nil && !obj.Deleting && ref.Matches(*obj)
}

// kindChanged takes in a kind that appeared, was read, failed or vanished: what
// Usages of it declare may be another now.
func (l *ledger) kindChanged(gk schema.GroupKind) {
	for _, id := range l.watcher.Users(gk) {
		if _, ok := kindOf(id.GroupKind()); ok { // Others use kinds too.
			l.declare(id)
		}
	}
	l.KindChanged(gk)
}
