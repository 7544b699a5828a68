package relation

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Existing tells which objects exist. [Watcher] implements Existing.
type Existing interface {
	// Get returns an object of the store, with [Unknown], [Absent] or [Present].
	Get(id object.ID) (Object, Presence)
	// List returns the objects that a [Ref] stands for. List returns known=false if [Presence]
	// would be Unknown for such an object.
	List(ref Ref) (objects []Object, known bool)
	// Members yields the objects that List returns, in no particular order: a caller that needs one of thousands of
	// objects needs no copy of all.
	Members(ref Ref) (members iter.Seq[Object], known bool)
	// Ready reports whether the presence of the objects of a kind is known: Get does not answer [Unknown].
	Ready(gk schema.GroupKind) bool
}

// Hold says whether an object is needed now ([Force.On]) or whether an edge needs its target
// now ([Force.Of]).
type Hold int

const (
	// Undecided means that a store does not know enough yet ([Unknown]): change nothing.
	Undecided Hold = iota
	// Free means that no existing object needs the object.
	Free
	// Held means that an existing object needs the object.
	Held
)

// Force decides which declared edges hold now. Declared ([Index]) says which edges there are,
// and Exists ([Watcher]) says which objects exist. Force keeps no answer: each call reads both
// again. Force is safe for concurrent use.
type Force struct {
	Declared *Index
	Exists   Existing
}

// Of decides whether an edge holds its target. The source must exist (Held if [Edge.Source] is
// zero), and the object behind [Edge.Content], if set, must exist too. The edge need not be in
// the [Index].
func (f Force) Of(e Edge) Hold { return f.of(&entry{Edge: e}) }

// of decides as Of does. With the selection of the source, of needs no list of objects in most cases.
func (f Force) of(e *entry) Hold {
	if e.Content != nil {
		if hold := f.exists(*e.Content, ""); hold != Held {
			return hold
		}
	}
	switch {
	case e.Source.IsZero():
		return Held
	case e.source != nil:
		return f.selected(e.source)
	}
	return f.exists(e.Source, e.SourceUID)
}

// On decides whether any edge holds an object. On stops at the first edge for which [Force.Of]
// returns [Held], so On is cheap for an object that is the target of thousands of edges.
func (f Force) On(obj Object) Hold {
	undecided := false
	held := f.Declared.anyTargeting(obj, func(e *entry) bool {
		hold := f.of(e)
		undecided = undecided || hold == Undecided
		return hold == Held
	})
	switch {
	case held:
		return Held
	case undecided:
		return Undecided
	default:
		return Free
	}
}

// Holding returns the edges that hold an object, in a fixed order. An edge for which [Force.Of]
// returns [Undecided] is among them: protection fails closed.
func (f Force) Holding(obj Object) []Edge {
	edges := f.Declared.collect(&f.Declared.targets, obj)
	return sorted(slices.DeleteFunc(edges, func(e *entry) bool { return f.of(e) == Free }))
}

// from returns the edges whose source is an object, except edges with [Edge.Content]: the
// target of such an edge only contains the object that the declarer protects.
func (f Force) from(id object.ID) []Edge {
	obj, _ := f.Exists.Get(id)
	return slices.DeleteFunc(f.Declared.From(obj), func(e Edge) bool { return e.Content != nil })
}

// anyOf returns one of the objects that a [Ref] stands for and that accept accepts.
func (f Force) anyOf(ref Ref, accept func(Object) bool) (member object.ID, found, known bool) {
	members, known := f.Exists.Members(ref)
	for obj := range members {
		if accept(obj) {
			return obj.ID, true, known
		}
	}
	return object.ID{}, false, known
}

// matches reports whether a [Ref] stands for an object now.
func (f Force) matches(ref Ref, id object.ID) bool {
	if ref.Selector == nil {
		return ref.ID == id
	}
	obj, presence := f.Exists.Get(id)
	return presence == Present && ref.Matches(obj)
}

func (f Force) exists(ref Ref, uid types.UID) Hold {
	if ref.Selector != nil {
		switch _, found, known := f.anyOf(ref, func(Object) bool { return true }); {
		case !known:
			return Undecided
		case !found:
			return Free
		}
		return Held
	}
	switch obj, presence := f.Exists.Get(ref.ID); {
	case presence == Unknown:
		return Undecided
	case presence == Absent, uid != "" && obj.UID != uid:
		return Free
	}
	return Held
}
