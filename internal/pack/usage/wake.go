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
	l.wakeConcerned(c)
	obj := c.Object()
	if c.New != nil && l.lock.Wrong(obj) {
		l.wakeTarget(obj.ID)
	}
	for _, id := range l.looking(c) {
		l.wakeUsage(id)
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

// wakeConcerned wakes the Usages whose edges begin or end at the object, before
// or after the change, and the locks at the other end.
func (l *ledger) wakeConcerned(c relation.Change) {
	for _, state := range []*relation.Object{c.Old, c.New} {
		if state == nil || (state == c.New && c.Old != nil && sameLabels(c)) {
			continue
		}
		l.wakeBehind(*state)
		if !l.holdsOthers(c) {
			l.wakeBefore(*state)
		}
	}
}

// wakeBehind wakes whatever is about what an object uses.
func (l *ledger) wakeBehind(obj relation.Object) {
	var sets []relation.Ref // They may have become part of a ring, or ceased to be.
	for _, e := range l.index.From(obj) {
		l.wakeEnd(e.Target)
		if e.Content == nil {
			l.wakeUsage(e.Declarer)
		}
		if e.Content == nil && e.Source.Selector != nil {
			sets = append(sets, e.Target)
		}
	}
	l.suspect(sets...)
}

// wakeBefore wakes whatever is about an object that is used.
func (l *ledger) wakeBefore(obj relation.Object) {
	ofSet := false
	for _, e := range l.index.Targeting(obj) {
		l.wakeUsage(e.Declarer)
		ofSet = ofSet || (e.Content == nil && e.Target.Selector != nil)
		for _, held := range l.index.Declared(e.Declarer) {
			if held.Content != nil {
				l.wakeEnd(held.Target)
			}
		}
	}
	if ofSet {
		l.suspect(relation.Named(obj.ID))
	}
}

// holdsOthers reports whether an object changed that thousands of edges may end
// at because it holds other objects, in a way that concerns none of them: they
// care for nothing but its lock.
func (l *ledger) holdsOthers(c relation.Change) bool {
	switch c.Object().ID.GroupKind() {
	case namespaceKind, relation.DefinitionKind:
		return c.Old != nil && c.New != nil && l.lock.On(*c.Old) == l.lock.On(*c.New)
	}
	return false
}

func sameLabels(c relation.Change) bool {
	if len(c.Old.Labels) != len(c.New.Labels) {
		return false
	}
	for k, v := range c.Old.Labels {
		if have, ok := c.New.Labels[k]; !ok || have != v {
			return false
		}
	}
	return true
}

// kindChanged takes in a kind that appeared, was read, failed or vanished: what
// Usages of it declare may be another now.
func (l *ledger) kindChanged(gk schema.GroupKind) {
	for _, id := range l.watcher.Users(gk) {
		if _, ok := kindOf(id.GroupKind()); ok { // Others use kinds too.
			l.declare(id)
		}
	}
	for _, target := range l.lockedOf(gk) {
		if l.lock.Wrong(target) {
			l.wakeTarget(target.ID)
		}
	}
}

// lockedOf returns the objects of a kind that carry the lock.
func (l *ledger) lockedOf(gk schema.GroupKind) []relation.Object {
	locked, _ := l.watcher.List(relation.Ref{
		ID:       object.ID{Group: gk.Group, Kind: gk.Kind},
		Selector: &relation.Selector{Labels: map[string]string{lockLabel: lockValue}},
	})
	return locked
}
