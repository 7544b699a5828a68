package external

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
)

// record is the engine's memory of an object, by metadata.uid. A restart loses all records. Then status.id
// of each object tells which resource the object has.
type record struct {
	// memory is only touched by the worker that runs a pass over the object, and needs no lock.
	memory

	id  object.ID
	uid types.UID
	// gone says that records.forget dropped the record. A running pass may still have the record.
	// records.grant and records.setShare add a gone record to no group.
	gone atomic.Bool

	// claim is the resource that the object has, and wish the resource for which the object waits
	// (claims.go). passed says that a pass made the claim, and not an event of the watch. lastUser says that
	// the object deletes its shared resource as the last user (records.leave). left says that the object
	// leaves its shared resource to other users.
	claim                  claimed
	wish                   Resource
	passed, lastUser, left bool

	// attempt is the creation without an answer, and attempted the time at which the creation began.
	// incomplete says that the object has created its resource, and that correctResource has yet to correct
	// the resource. No object imports an incomplete resource (create.go).
	attempt    cloudKey
	attempted  time.Time
	incomplete bool

	// share is the key of the resource that the object shares with others (share.go). creates says that a
	// pass of the object may create the resource now (records.beginCreation). awaits says that the object
	// waits for the end of such a pass. unanswered says that Create for the object got no answer, so the
	// shared resource may exist.
	share                       cloudKey
	creates, awaits, unanswered bool

	// uses are the resources that the object's resource uses, and ends says that the object is being deleted
	// (occupancy.go). deletion is the running deletion of the object's resource.
	uses     []Resource
	ends     bool
	deletion *deletion

	// serial is the place ([Kind.Serial]) in which the object changes its resource, or waits to change the
	// resource (serial.go). visited says that the object had a pass (records.beginPass).
	serial  cloudKey
	visited bool
	// deleting says that the cloud has accepted the deletion of the resource.
	deleting atomic.Bool
	// container is the deleted resource that contained the object's resource (occupancy.go).
	container atomic.Pointer[container]

	// altered is when the resource of another object changed the object's resource (alter.go).
	altered atomic.Pointer[time.Time]
	// lookWanted says that a user requests a comparison by [LookNow] (observer.go).
	lookWanted atomic.Bool
	// stray is the last version of a deleted object whose resource is still to be deleted (stray.go).
	stray client.Object
}

// memory is kept from pass to pass over an object.
type memory struct {
	// tried is Refs.Fingerprint of the last pass, or the constant unsettled. Before the first pass of a process
	// tried is unsettled, and not "": the Refs.Fingerprint of an object without references is "".
	tried string
	// refused says that the cloud refused the last Create (wasAnswered): no resource was created.
	refused bool
	// repeated says that Create was called again after a refusal because of a shared resource that no longer
	// exists (reconciler.explainRefusal).
	repeated bool
	// began is the last recorded intent. sent says that this process has called Actuator.Create.
	began *intent
	sent  bool
	// deleted is the id of the resource about whose deletion announceDeletion emitted an event: the passes after
	// a failed removeFinalizer find the resource missing again.
	deleted string
	// origin says how the object got its resource (created, imported or adopted), until announceResource
	// emits an event (news.go).
	origin string
	// native says that an operator has put its finalizer on this very object (reconciler.isNative).
	native bool
	// until is when the cloud no longer carries out a Create without an answer (carriedOut, unknownEnd).
	until time.Time
	// next is when the resource is compared with the spec again (reconciler.schedule).
	next time.Time
	// looked is when the last request of a user for a comparison was served (record.popLook).
	looked time.Time
	// polls count and plan the looks at a running change (reconciler.poll).
	polls polls
	// notBefore is the earliest time at which the cloud accepts the next question about the operation
	// ([Error.After]).
	notBefore time.Time
	// endsSince is when a pass found that the object is about to end with its owner (reconciler.untilCollected).
	endsSince time.Time
	// named are the holders that the status names (reconciler.awaitFinalizers). named may be nil.
	named heldBy
	// busy is the refusal of the last deletion, if the cloud answered Busy (occupancy.go).
	busy refusal
	// updating is the operation of an Update that has not ended (operation.go).
	updating string
	// heard is when the cloud last confirmed the change for which the object has a reservation
	// (reconciler.isChanging).
	heard time.Time
	// releasedAt is metadata.resourceVersion of the object after removeFinalizer.
	releasedAt string
}

// heldBy maps a finalizer of an object to the source that needs the finalizer, such as Subnet/blue.
type heldBy map[string]object.ID

// isReleased reports whether a resourceVersion is memory.releasedAt or an older version. The operator's
// finalizer was removed from such an object.
func (m *memory) isReleased(version string) bool {
	return version == m.releasedAt || object.Older(version, m.releasedAt)
}

// records are the records of all objects of an [Engine], under a single lock that is never held during a
// request. records is safe for concurrent use. All fields of a record are too, except record.memory.
type records struct {
	wake func(object.ID)

	mu  sync.Mutex
	all map[types.UID]*record
	// The following groups find records by a common field.
	claims   group[Resource]  // record.claim
	wishes   group[Resource]  // record.wish
	sharers  group[cloudKey]  // record.share
	users    group[Resource]  // record.uses
	near     group[Resource]  // record.deletion
	attempts group[cloudKey]  // record.attempt
	strays   group[object.ID] // record.stray
	// sequences are the objects of each place in which a single resource at a time is changed (serial.go).
	sequences map[cloudKey]*sequence
}

func newRecords(wake func(object.ID)) *records {
	return &records{
		wake: wake, all: map[types.UID]*record{},
		claims: group[Resource]{}, wishes: group[Resource]{}, sharers: group[cloudKey]{}, users: group[Resource]{},
		near: group[Resource]{}, attempts: group[cloudKey]{}, strays: group[object.ID]{},
		sequences: map[cloudKey]*sequence{},
	}
}

// learn returns the record of an object that the watch has reported, and adds a record for a new uid.
func (s *records) learn(id object.ID, uid types.UID) *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[uid] == nil {
		s.all[uid] = &record{id: id, uid: uid, memory: memory{tried: unsettled}}
	}
	return s.all[uid]
}

// of returns the record of an object. For a deleted object, of returns an empty record with record.gone.
func (s *records) of(id object.ID, uid types.UID) *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.all[uid]; known != nil {
		return known
	}
	unknown := &record{id: id, uid: uid}
	unknown.gone.Store(true)
	return unknown
}

// forget drops the record of a deleted object.
func (s *records) forget(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.gone.Store(true)
	s.letGo(r)
	s.leaveShare(r)
	s.setUses(r, nil, false)
	s.endDeletion(r)
	s.leaveSequence(r)
	s.strays.remove(r.id, r)
	delete(s.all, r.uid)
}

// cloudKey is a text that is unique within a kind and a cloud: the name or reconciler.addressKey of a new
// resource (record.attempt), [Kind.Shared] (record.share) or [Kind.Serial] (record.serial). Objects of several
// kinds may have the same Serial, whose cloudKey has no kind. A cloudKey is the same for all credentials of a
// cloud.
type cloudKey struct {
	kind       schema.GroupKind
	cloud, key string
}

// group are records by a common field, such as record.claim.Resource.
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

// hasOther reports whether the key has a record other than the given record.
func (g group[K]) hasOther(key K, than *record) bool {
	all := g[key]
	return all.Len() > 1 || (all.Len() == 1 && !all.Has(than))
}

// of returns the records with a key, sorted by record.id.
func (g group[K]) of(key K) []*record {
	return slices.SortedFunc(maps.Keys(g[key]), func(a, b *record) int { return object.Compare(a.id, b.id) })
}
