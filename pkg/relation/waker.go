package relation

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Mark is what a held object carries, such as a label, as guard.Lock has it.
type Mark interface {
	// On reports whether an object carries the mark.
	On(obj Object) bool
	// Wrong reports whether an object carries the mark and should not, or the other way round.
	Wrong(obj Object) bool
	// Corrected reports whether a change made the mark right and changed nothing else that a
	// relation depends on.
	Corrected(before, now Object) bool
	// Selector selects the objects that carry the mark.
	Selector() *Selector
}

// Waker asks for the objects to be reconciled that a change concerns, and for no others: the
// declarers of edges, and the targets whose mark may be wrong. It is safe for concurrent
// use; none of its methods waits. Set all fields before the first call.
type Waker struct {
	Force

	// Mark is what held targets carry.
	Mark Mark
	// Declarer and Target ask for an object to be reconciled, as a queue does. They MUST NOT
	// block.
	Declarer, Target func(object.ID)
	// KindsChanged, if set, is called when other kinds may be held than before.
	KindsChanged func()

	// selectors are ends whose members may be marked wrongly, and rings those that may have
	// become part of a ring.
	selectors, rings batch
}

// namespaceKind is, as DefinitionKind, a kind whose objects hold many others.
var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// Declare replaces the edges of a declarer, and wakes the targets that the edges had and
// have. The declarer itself is not woken.
func (w *Waker) Declare(declarer object.ID, edges []Edge) {
	before := w.Declared.Set(declarer, edges)
	if slices.EqualFunc(before, edges, sameEdge) {
		return
	}
	rebound := slices.EqualFunc(before, edges, sameEnds)
	if w.KindsChanged != nil && (len(before) == 0 || len(edges) == 0) {
		w.KindsChanged()
	}
	var ends []Ref
	for _, e := range slices.Concat(before, edges) {
		w.wakeEnd(e.Target)
		if e.Content == nil {
			ends = append(ends, e.Target)
		}
	}
	if !rebound { // Another SourceUID neither opens nor closes a ring.
		w.suspect(ends...)
	}
}

// Changed wakes the declarers and targets that a change of an object concerns: of the edges
// that begin or end at the object, before or after the change. A change that only made the
// mark right concerns no declarer: the declarers that needed the mark have set it.
func (w *Waker) Changed(c Change) {
	if c.Old != nil && c.New != nil && w.Mark.Corrected(*c.Old, *c.New) {
		return
	}
	for _, state := range []*Object{c.Old, c.New} {
		if state == nil || (state == c.New && c.Old != nil && maps.Equal(c.Old.Labels, c.New.Labels)) {
			continue
		}
		w.sourceChanged(*state)
		if !w.holdsOthers(c) {
			w.targetChanged(*state)
		}
	}
	if c.New != nil && w.Mark.Wrong(*c.New) {
		w.Target(c.New.ID)
	}
}

// KindChanged wakes the objects of a kind that are marked wrongly: the kind was read, or
// something else has become known of it.
func (w *Waker) KindChanged(gk schema.GroupKind) {
	for _, obj := range w.Marked(gk) {
		if w.Mark.Wrong(obj) {
			w.Target(obj.ID)
		}
	}
}

// Marked returns the objects of a kind that carry the mark.
func (w *Waker) Marked(gk schema.GroupKind) []Object {
	marked, _ := w.Exists.List(Ref{ID: object.ID{Group: gk.Group, Kind: gk.Kind}, Selector: w.Mark.Selector()})
	return marked
}

// sourceChanged wakes the declarers and the targets of the edges that begin at an object.
func (w *Waker) sourceChanged(obj Object) {
	var chosen []Ref // They may have become part of a ring, or ceased to be.
	for _, e := range w.Declared.From(obj) {
		w.wakeEnd(e.Target)
		if e.Content != nil {
			continue
		}
		w.Declarer(e.Declarer)
		if e.Source.Selector != nil {
			chosen = append(chosen, e.Target)
		}
	}
	w.suspect(chosen...)
}

// targetChanged wakes the declarers of the edges that end at an object, and what holds it.
func (w *Waker) targetChanged(obj Object) {
	chosen := false
	for _, e := range w.Declared.Targeting(obj) {
		w.Declarer(e.Declarer)
		chosen = chosen || (e.Content == nil && e.Target.Selector != nil)
		for _, held := range w.Declared.Declared(e.Declarer) {
			if held.Content != nil {
				w.wakeEnd(held.Target)
			}
		}
	}
	if chosen {
		w.suspect(Named(obj.ID))
	}
}

// holdsOthers reports whether a namespace or a definition changed in another way than by its
// mark. Thousands of edges may end there, and only the mark concerns their declarers.
func (w *Waker) holdsOthers(c Change) bool {
	switch c.Object().ID.GroupKind() {
	case namespaceKind, DefinitionKind:
		return c.Old != nil && c.New != nil && w.Mark.On(*c.Old) == w.Mark.On(*c.New)
	}
	return false
}

// wakeEnd wakes the targets that an end stands for: at once if it is one, else in a batch.
func (w *Waker) wakeEnd(ref Ref) {
	if ref.Selector == nil {
		w.Target(ref.ID)
		return
	}
	w.selectors.add(w.wakeSelected, ref)
}

// wakeSelected wakes the objects marked wrongly that some selectors select, or did.
func (w *Waker) wakeSelected(refs []Ref) {
	for _, ref := range refs {
		marked := ref
		marked.Selector = w.Mark.Selector() // A marked object may have been selected before.
		before, _ := w.Exists.List(marked)
		now, _ := w.Exists.List(ref)
		for _, obj := range slices.Concat(before, now) {
			if w.Mark.Wrong(obj) {
				w.Target(obj.ID)
			}
		}
	}
}

// suspect wakes the declarers behind some ends, in a batch: their edges may have become a
// ring, or ceased to be one.
func (w *Waker) suspect(ends ...Ref) {
	w.rings.add(func(ends []Ref) { w.Behind(ends, w.Declarer) }, ends...)
}

func sameEdge(a, b Edge) bool { return a.SourceUID == b.SourceUID && sameEnds(a, b) }

func sameEnds(a, b Edge) bool {
	return a.Relation == b.Relation && a.Source.Equal(b.Source) && a.Target.Equal(b.Target)
}
