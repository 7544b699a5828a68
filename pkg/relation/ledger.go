package relation

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Declaration is the part of a declarer, such as a Usage, that a [Ledger] works with.
type Declaration struct {
	// Kinds are the kinds that a [Watcher] must watch for the declarer.
	Kinds []schema.GroupKind
	// Edges are the permitted edges of the declarer ([Edge.Declarer]).
	Edges []Edge
	// Choices are selectors from which the declarer has yet to choose one object each, such as
	// spec.by.resourceSelector of a Usage.
	Choices []Ref
}

// Ledger keeps the edges of declarers in an [Index] and wakes the declarers and targets that a
// change concerns. A Ledger runs in every replica and is safe for concurrent use. Set all
// fields before the first call.
type Ledger struct {
	Waker

	// Get returns a declarer from the store of its informer, or nil if the store has none.
	Get func(id object.ID) client.Object
	// Declaration reads a declarer. It MUST be fast, and MUST NOT call the [Ledger].
	Declaration func(obj client.Object) Declaration
	// Use has kinds watched for a declarer. [Watcher.Use] implements Use.
	Use func(declarer object.ID, kinds ...schema.GroupKind)
	// Unread reports whether a declarer exists that no informer can read, such as a Usage that
	// fails to decode. While Unread returns true, [Ledger.Hold] answers [Undecided] in place of
	// [Free]. Unread may be nil.
	Unread func() bool

	// mu is held from the call of Get until Declare has returned: informers, ReferenceGrants
	// and the controller report one declarer at the same time, and the newest state must win.
	mu       sync.Mutex
	released map[object.ID]types.UID // declarers for which Release was called
	deleted  map[object.ID]types.UID // by declarer: the source that the API server has reported as deleted
	choices  map[schema.GroupKind]map[object.ID][]Ref
}

// Update reads a declarer with [Ledger.Get] and sets its edges. Update does not wake the
// declarer.
//
// Update calls Get instead of taking an object from the caller: another caller may already have
// read a newer object.
func (l *Ledger) Update(id object.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	obj := l.Get(id)
	if obj == nil {
		delete(l.released, id)
		delete(l.deleted, id)
		l.set(id, Declaration{})
		return
	}
	if l.released[id] == obj.GetUID() {
		return // The kinds stay in use: the declarer may wait for a kind to be read before it can remove a lock.
	}
	l.set(id, l.Declaration(obj))
}

// set replaces the [Declaration] (Edges, Kinds and Choices) of a declarer. The caller holds
// Ledger.mu.
func (l *Ledger) set(id object.ID, d Declaration) {
	l.Use(id, d.Kinds...)
	for _, choosing := range l.choices {
		delete(choosing, id)
	}
	for _, ref := range d.Choices {
		gk := ref.GroupKind()
		if l.choices == nil {
			l.choices = map[schema.GroupKind]map[object.ID][]Ref{}
		}
		if l.choices[gk] == nil {
			l.choices[gk] = map[object.ID][]Ref{}
		}
		l.choices[gk][id] = append(l.choices[gk][id], ref)
	}
	l.Declare(id, d.Edges)
}

// Release drops the edges of a declarer that has a metadata.deletionTimestamp and no effect any
// more. If [Ledger.Get] returns no declarer with this UID (a new declarer of the same name
// replaced the old one), Release changes nothing.
func (l *Ledger) Release(id object.ID, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if obj := l.Get(id); obj == nil || obj.GetUID() != uid {
		return
	}
	if l.released == nil {
		l.released = map[object.ID]types.UID{}
	}
	l.released[id] = uid
	l.Declare(id, nil)
}

// Released reports whether [Ledger.Release] was called for the declarer with a UID.
func (l *Ledger) Released(id object.ID, uid types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released[id] == uid
}

// SourceDeleted reports whether the API server has reported the deletion of the source with a
// UID, and the declarer names the source. In this case the declarer needs no [Watcher.Live].
func (l *Ledger) SourceDeleted(declarer object.ID, source types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return source != "" && l.deleted[declarer] == source
}

// Changed wakes the declarers and targets that a change of an object concerns
// ([Waker.Changed]), and the declarers that can choose the object now and could not before
// ([Declaration.Choices]).
func (l *Ledger) Changed(c Change) {
	choosers := l.record(c) // Before Declarer wakes a declarer that calls SourceDeleted.
	l.Waker.Changed(c)
	for _, id := range choosers {
		l.Declarer(id)
	}
}

// record stores a reported deletion for SourceDeleted, and returns the declarers that can
// choose the object now and could not before.
func (l *Ledger) record(c Change) (choosers []object.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.New == nil && c.Told {
		for _, e := range l.Declared.From(*c.Old) {
			if e.Source.Selector != nil {
				continue
			}
			if l.deleted == nil {
				l.deleted = map[object.ID]types.UID{}
			}
			l.deleted[e.Declarer] = c.Old.UID
		}
	}
	for id, refs := range l.choices[c.Object().ID.GroupKind()] {
		if slices.ContainsFunc(refs, func(ref Ref) bool { return choosable(ref, c.New) && !choosable(ref, c.Old) }) {
			choosers = append(choosers, id)
		}
	}
	return choosers
}

// choosable reports whether a declarer may choose an object: [Ref.Matches] returns true, and
// the object has no metadata.deletionTimestamp.
func choosable(ref Ref, obj *Object) bool { return obj != nil && !obj.Deleting && ref.Matches(*obj) }

// KindChanged updates and wakes the declarers of a kind that was installed, read or removed, or
// whose watch failed.
func (l *Ledger) KindChanged(gk schema.GroupKind, declarers ...object.ID) {
	for _, id := range declarers {
		l.Update(id)
		l.Declarer(id)
	}
	l.Waker.KindChanged(gk)
}

// Hold decides whether an object is held, as [Force.On] does, and takes Unread into account.
func (l *Ledger) Hold(obj Object) Hold {
	hold := l.On(obj)
	if hold == Free && l.Unread != nil && l.Unread() {
		return Undecided
	}
	return hold
}

// WronglyMarked returns the objects whose [Mark] is wrong, for the kinds of
// [Index.TargetKinds]. Such an object remains if the last leader stopped between two writes.
func (l *Ledger) WronglyMarked() []object.ID {
	var ids []object.ID
	for _, gk := range l.Declared.TargetKinds() {
		for _, obj := range l.Marked(gk, "") {
			if l.Mark.Wrong(obj) {
				ids = append(ids, obj.ID)
			}
		}
	}
	return ids
}
