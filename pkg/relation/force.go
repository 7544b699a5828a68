package relation

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Existing tells which objects exist, as [Watcher] does.
type Existing interface {
	// Get returns an object as last seen.
	Get(id object.ID) (Object, Presence)
	// List returns the objects that an end stands for, and whether that is known.
	List(ref Ref) (objects []Object, known bool)
}

// Hold says whether something is needed now.
type Hold int

const (
	// Undecided means that not enough is known yet: change nothing.
	Undecided Hold = iota
	// Free means that nobody needs the object.
	Free
	// Held means that somebody needs the object.
	Held
)

// Force decides which declared edges hold now. Declared says which edges there are, Exists
// which objects. Nothing is kept: each answer is made from what the two hold when they are
// asked. Force is safe for concurrent use.
type Force struct {
	Declared *Index
	Exists   Existing
}

// Of decides whether an edge holds its target: if its source exists and, of an edge to what
// holds an object (Edge.Content), if that object exists. The edge need not be in the index.
func (f Force) Of(e Edge) Hold {
	if e.Content != nil {
		if hold := f.exists(*e.Content, ""); hold != Held {
			return hold
		}
	}
	if e.Source.IsZero() {
		return Held
	}
	return f.exists(e.Source, e.SourceUID)
}

// On decides whether any edge holds an object. It stops at the first one in force: cheap
// for objects that thousands of edges end at.
func (f Force) On(obj Object) Hold {
	undecided := false
	held := f.Declared.AnyTargeting(obj, func(e Edge) bool {
		hold := f.Of(e)
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

// Holding returns the edges that hold an object, in a fixed order. An edge of which nobody
// can tell whether it is in force is among them: protection fails closed.
func (f Force) Holding(obj Object) []Edge {
	edges := f.Declared.Targeting(obj)
	return slices.DeleteFunc(edges, func(e Edge) bool { return f.Of(e) == Free })
}

// From returns the edges whose source is an object, without those to what holds their
// targets.
func (f Force) From(id object.ID) []Edge {
	obj, _ := f.Exists.Get(id)
	return slices.DeleteFunc(f.Declared.From(obj), func(e Edge) bool { return e.Content != nil })
}

// Members returns the objects that an end stands for now. A name stands for its object
// whether that exists or not.
func (f Force) Members(ref Ref) []object.ID {
	if ref.Selector == nil {
		return []object.ID{ref.ID}
	}
	objects, _ := f.Exists.List(ref)
	ids := make([]object.ID, 0, len(objects))
	for _, obj := range objects {
		ids = append(ids, obj.ID)
	}
	return ids
}

// Matches reports whether an end stands for an object now.
func (f Force) Matches(ref Ref, id object.ID) bool {
	if ref.Selector == nil {
		return ref.ID == id
	}
	obj, presence := f.Exists.Get(id)
	return presence == Present && ref.Matches(obj)
}

func (f Force) exists(ref Ref, uid types.UID) Hold {
	if ref.Selector != nil {
		objects, known := f.Exists.List(ref)
		switch {
		case !known:
			return Undecided
		case len(objects) == 0:
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
