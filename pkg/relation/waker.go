package relation

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Mark is a mark that held objects carry, such as a label. guard.Lock implements Mark.
type Mark interface {
	// On reports whether an object carries the mark (guard.Lock: in metadata.labels).
	On(obj Object) bool
	// Wrong reports whether an object carries the mark and should not, or should carry the mark
	// and does not.
	Wrong(obj Object) bool
	// Corrected reports whether a change made the mark right and changed nothing else that a
	// relation depends on.
	Corrected(before, now Object) bool
	// Selector selects the objects that carry the mark.
	Selector() *Selector
}

// Waker requests the reconciliation of the objects that a change concerns, and of no others:
// the declarers of edges, and the targets whose [Mark] may be wrong. Waker is safe for concurrent
// use; none of its methods waits. Set all fields before the first call.
type Waker struct {
	Force

	// Mark is the [Mark] of held targets.
	Mark Mark
	// Declarer and Target request the reconciliation of an object, as Add of a work queue does.
	// They MUST NOT block.
	Declarer, Target func(object.ID)
	// KindsChanged, if set, is called when a declarer gets its first edge or loses its last
	// edge: other kinds may be held than before.
	KindsChanged func()

	// selectors collects ends whose members may have a wrong [Mark]. rings collects ends that may
	// have become part of a ring, or ceased to be.
	selectors, rings batch
}

// namespaceKind and DefinitionKind are the kinds whose objects contain other objects.
var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// Declare replaces the edges of a declarer, and wakes the old and the new targets. The declarer
// itself is not woken.
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
		w.suspectRings(ends...)
	}
}

// Changed wakes the declarers and targets of the edges that the change of an object concerns:
//
//   - the edges that begin or end at the object, if the object was created or deleted, if its deletion began, or if
//     its mark changed,
//   - the edges whose selector selects the object now and did not before, or did before. Of the source it matters only
//     that the selector selects some object.
//
// Any other change, such as another label, wakes nobody. Nor does a change that only corrected the mark
// ([Mark.Corrected]): the declarers that needed the mark have set it.
func (w *Waker) Changed(c Change) {
	w.Declared.observe(c)
	if c.Old != nil && c.New != nil && w.Mark.Corrected(*c.Old, *c.New) {
		return
	}
	whole := w.isWhole(c)
	if whole || c.Old.Controller != c.New.Controller || !maps.Equal(c.Old.Labels, c.New.Labels) {
		w.sourceChanged(c, whole)
		if !w.holdsOthers(c) {
			w.targetChanged(c, whole)
		}
	}
	if c.New != nil && w.Mark.Wrong(*c.New) {
		w.Target(c.New.ID)
	}
}

// isWhole reports whether a change of an object concerns every edge at the object, and not only the selectors that
// select the object no more, or select it now.
func (w *Waker) isWhole(c Change) bool {
	return c.Old == nil || c.New == nil || c.Old.UID != c.New.UID || c.Old.Deleting != c.New.Deleting ||
		w.Mark.On(*c.Old) != w.Mark.On(*c.New)
}

// KindChanged wakes the objects of a kind whose mark is wrong, after [Watcher] has read the
// kind or its state has changed.
func (w *Waker) KindChanged(gk schema.GroupKind) {
	for _, obj := range w.Marked(gk, "") {
		if w.Mark.Wrong(obj) {
			w.Target(obj.ID)
		}
	}
}

// Marked returns the objects of a kind that carry the mark ([Mark.Selector]), in a namespace or, if the namespace is
// empty, in all.
func (w *Waker) Marked(gk schema.GroupKind, namespace string) []Object {
	all := object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: namespace}
	marked, _ := w.Exists.List(Ref{ID: all, Selector: w.Mark.Selector()})
	return marked
}

// sourceChanged wakes the declarers and the targets of the concerned edges whose source is an object.
func (w *Waker) sourceChanged(c Change, whole bool) {
	var chosen []Ref // The targets may have become part of a ring, or ceased to be.
	for _, e := range w.Declared.concerned(&w.Declared.sources, c, whole) {
		if e.source != nil && e.Content == nil {
			chosen = append(chosen, e.Target)
		}
		if e.source != nil && w.isUnmoved(e.source, c) {
			continue
		}
		w.wakeEnd(e.Target)
		if e.Content == nil {
			w.Declarer(e.Declarer)
		}
	}
	w.suspectRings(chosen...)
}

// isUnmoved reports whether a selection had a member before the change of an object and has one now, and no member
// began to be deleted or ceased to be: for 300 Usages by all Pods of an application, another Pod changes nothing.
func (w *Waker) isUnmoved(s *selection, c Change) bool {
	if c.New == nil || c.New.Deleting || c.Old != nil && c.Old.Deleting {
		return false
	}
	if c.Old != nil && c.Old.UID == c.New.UID && s.ref.Matches(*c.Old) == s.ref.Matches(*c.New) {
		return true
	}
	return w.hasOlder(s, *c.New)
}

// targetChanged wakes the declarers of the concerned edges whose target is an object, and the Namespaces
// and CustomResourceDefinitions that contain the target ([Edge.Content]).
func (w *Waker) targetChanged(c Change, whole bool) {
	chosen := false
	for _, e := range w.Declared.concerned(&w.Declared.targets, c, whole) {
		chosen = chosen || e.Content == nil && e.Target.Selector != nil
		w.Declarer(e.Declarer)
		for _, held := range w.Declared.Declared(e.Declarer) {
			if held.Content != nil {
				w.wakeEnd(held.Target)
			}
		}
	}
	if chosen {
		w.suspectRings(Named(c.Object().ID))
	}
}

// holdsOthers reports whether a Namespace or a CustomResourceDefinition changed, but not its
// mark. Thousands of edges may have the object as target, and only a change of the mark
// concerns their declarers.
func (w *Waker) holdsOthers(c Change) bool {
	switch c.Object().ID.GroupKind() {
	case namespaceKind, DefinitionKind:
		return c.Old != nil && c.New != nil && w.Mark.On(*c.Old) == w.Mark.On(*c.New)
	}
	return false
}

// wakeEnd wakes the targets of a [Ref]: a named object at once, the members of a selector in a
// batch.
func (w *Waker) wakeEnd(ref Ref) {
	if ref.Selector == nil {
		w.Target(ref.ID)
		return
	}
	w.selectors.add(w.wakeSelected, ref)
}

// wakeSelected wakes the objects with a wrong mark among the members of some selectors and
// their former members.
func (w *Waker) wakeSelected(refs []Ref) {
	for _, ref := range refs {
		marked := ref
		marked.Selector = w.Mark.Selector() // A marked object may be a former member of the selector.
		for _, those := range []Ref{marked, ref} {
			members, _ := w.Exists.Members(those)
			for obj := range members {
				if w.Mark.Wrong(obj) {
					w.Target(obj.ID)
				}
			}
		}
	}
}

// suspectRings wakes the declarers behind some ends (Force.behind) in a batch: their edges
// may have become a ring, or ceased to be a ring.
func (w *Waker) suspectRings(ends ...Ref) {
	w.rings.add(func(ends []Ref) { w.behind(ends, w.Declarer) }, ends...)
}

func sameEdge(a, b Edge) bool { return a.SourceUID == b.SourceUID && sameEnds(a, b) }

func sameEnds(a, b Edge) bool {
	return a.Relation == b.Relation && a.Source.Equal(b.Source) && a.Target.Equal(b.Target)
}
