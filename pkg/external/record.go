package external

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
)

// record is what the engine remembers of one object, by its uid. A restart loses all records:
// then the statuses tell which object has which resource.
type record struct {
	// memory is only touched by the one worker that has the object.
	memory

	id  object.ID
	uid types.UID
	// gone says that the record was forgotten. A pass that is still running may have the record:
	// such a record claims and shares nothing.
	gone bool

	// claim is the resource that the object has, and wish the one that the object waits for
	// (claims.go). passed says that a pass made the claim, and not an event of the watch. lastUser
	// says that the object has its shared resource deleted as the last user. left says that the
	// object ends and leaves its resource to other users.
	claim                  claimed
	wish                   Resource
	passed, lastUser, left bool

	// attempt is the creation that no answer has ended, and attempted when it began. incomplete says
	// that the object has created its resource and not corrected the resource yet. No object imports
	// such a resource (complete.go).
	attempt    creation
	attempted  time.Time
	incomplete bool

	// share is the key of the resource that the object shares with others (share.go). creates
	// says that a pass of the object may create that resource now, and awaits that the object
	// waits for the end of such a pass. unanswered says that the object may have had the resource
	// created and got no answer.
	share                       shareKey
	creates, awaits, unanswered bool

	// uses are the resources that the object's resource uses, and ends says that the object is
	// being deleted (occupancy.go). deletion is the deletion of the object's resource under way.
	uses     []Resource
	ends     bool
	deletion *deletion

	// serial is the place in which the object changes its resource, or waits to change it (serial.go). visited
	// says that the object had a pass.
	serial  serialKey
	visited bool

	// altered is when the resource of another object changed this one (alter.go).
	altered time.Time
	// stray is the object as it was at its end, if its resource is still to be deleted (stray.go).
	stray client.Object
}

// memory is what the passes over an object remember.
type memory struct {
	// tried is the fingerprint of the references in the last pass, or the constant unsettled.
	tried string
	// refused says that the last Create was answered with a refusal: nothing was created.
	refused bool
	// repeated says that Create was called again after a refusal because of a resource that was
	// gone a moment later.
	repeated bool
	// began is the last recorded intent. sent says that this process has called Create.
	began *intent
	sent  bool
	// native says that an operator has put its finalizer on this very object.
	native bool
	// until is when the cloud no longer carries out a Create that got no answer.
	until time.Time
	// next is when the resource is to be compared with the spec again.
	next time.Time
	// polls are the looks at something under way.
	polls polls
	// notBefore is the earliest time at which the cloud wants to be asked for the operation under way.
	notBefore time.Time
	// orphaned is when a pass found that an owner of the object was gone.
	orphaned time.Time
	// named are the holders that the status names. nil means none.
	named heldBy
	// busy is the refusal of the last deletion, if the resource was in use.
	busy refusal
	// updating is the operation of an Update that has not ended.
	updating string
	// heard is when the cloud last told of the change for which the object has a reservation.
	heard time.Time
	// deleting says that the cloud has accepted the deletion.
	deleting bool
	// releasedAt is the resourceVersion of the object without the operator's finalizer.
	releasedAt string
}

// heldBy are objects that hold another one, by their finalizer.
type heldBy map[string]object.ID

// isReleased reports whether a version of the object is the one from which the operator's finalizer
// was removed, or an earlier one.
func (m *memory) isReleased(version string) bool {
	return version == m.releasedAt || object.Older(version, m.releasedAt)
}

// records are the records of all objects of an engine, under one lock that is never held over a
// request. Records are safe for concurrent use, and so is all of a record but its memory.
type records struct {
	wake func(object.ID)

	mu  sync.Mutex
	all map[types.UID]*record
	// The other maps find records by what they have in common with others.
	claims   group[Resource]  // record.claim
	wishes   group[Resource]  // record.wish
	sharers  group[shareKey]  // record.share
	users    group[Resource]  // record.uses
	near     group[Resource]  // record.deletion
	attempts group[creation]  // record.attempt
	strays   group[object.ID] // record.stray
	// sequences are the objects of each place in which one resource at a time is changed.
	sequences map[serialKey]*sequence
}

func newRecords(wake func(object.ID)) *records {
	return &records{
		wake: wake, all: map[types.UID]*record{},
		claims: group[Resource]{}, wishes: group[Resource]{}, sharers: group[shareKey]{}, users: group[Resource]{},
		near: group[Resource]{}, attempts: group[creation]{}, strays: group[object.ID]{},
		sequences: map[serialKey]*sequence{},
	}
}

// learn returns the record of an object that a watch has shown.
func (s *records) learn(id object.ID, uid types.UID) *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[uid] == nil {
		s.all[uid] = &record{id: id, uid: uid}
	}
	return s.all[uid]
}

// of returns the record of an object. For a deleted object, of returns an empty record that is
// marked gone.
func (s *records) of(id object.ID, uid types.UID) *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.all[uid]; known != nil {
		return known
	}
	return &record{id: id, uid: uid, gone: true}
}

// isForgotten reports whether the object of a record is gone.
func (s *records) isForgotten(r *record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.gone
}

// forget drops the record of a deleted object.
func (s *records) forget(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.gone = true
	s.letGo(r)
	s.leaveShare(r)
	s.setUses(r, nil, false)
	s.endDeletion(r)
	s.leaveSequence(r)
	s.strays.remove(r.id, r)
	delete(s.all, r.uid)
}

// group are records by something that they have in common.
type group[K comparable] map[K]sets.Set[*record]

func (g group[K]) add(key K, r *record) {
	if g[key] == nil {
		g[key] = sets.Set[*record]{}
	}
	g[key].Insert(r)
}

func (g group[K]) remove(key K, r *record) {
	if all := g[key]; all != nil {
		if all.Delete(r); all.Len() == 0 {
			delete(g, key)
		}
	}
}

// hasOther reports whether a record other than one has the key.
func (g group[K]) hasOther(key K, than *record) bool {
	all := g[key]
	return all.Len() > 1 || (all.Len() == 1 && !all.Has(than))
}

// of returns the records with a key in the order of their objects.
func (g group[K]) of(key K) []*record {
	return slices.SortedFunc(maps.Keys(g[key]), func(a, b *record) int { return object.Compare(a.id, b.id) })
}
