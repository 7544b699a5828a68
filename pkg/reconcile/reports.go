package reconcile

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Reports defers status writes that only report progress. Without Reports, an IotConnector of
// forty Deployments would cost forty status writes, because each Deployment becomes available
// at a different moment.
//
// S is a pointer to a status, such as *IotConnectorStatus. Reports keeps a deferred status in
// memory, so that the next pass continues from this status ([Reports.Latest]). After a restart
// the memory is empty, and the pass continues from status as the API server has recorded it.
//
// Reports is safe for concurrent use.
type Reports[S any] struct {
	// First is the least time between two status writes of an object that only report progress.
	First time.Duration
	// Ratio lengthens the time with each write: if the last write is a seconds old, the next
	// report is deferred by Ratio*a. Zero means that the time stays [Reports.First].
	Ratio int
	// Each is multiplied by the number of objects in progress, up to [Reports.Most], and used where the
	// product exceeds [Reports.First]. With 200 ms, all objects together write five times per second.
	Each time.Duration
	// Most bounds the product of [Reports.Each]; zero means no bound.
	Most time.Duration
	// Coarse returns a copy of a status without the fields that every step of progress changes,
	// such as conditions[].message.
	Coarse func(S) S
	// IsProgressing reports whether a status describes work that continues by itself.
	IsProgressing func(S) bool

	mu   sync.Mutex
	last map[object.ID]report[S] // of the objects in progress
}

// report is the last status write of an object, and the deferral since.
type report[S any] struct {
	at       time.Time
	wait     time.Duration
	deferred *deferral[S]
}

// deferral is a status that was not written, and the status on record at that time.
type deferral[S any] struct{ recorded, status S }

// Latest returns the status that [Reports.Defer] has deferred if the deferral was based on the
// recorded status, and the recorded status otherwise. The caller MUST copy the result before a
// change.
func (r *Reports[S]) Latest(id object.ID, recorded S) S {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.last[id].deferred; d != nil && equality.Semantic.DeepEqual(d.recorded, recorded) {
		return d.status
	}
	return recorded
}

// Defer returns how long the write of a status is deferred; zero means that the status is to be
// written now and then passed to [Reports.Wrote]. A deferred status MUST NOT be changed by the
// caller afterwards.
func (r *Reports[S]) Defer(id object.ID, now time.Time, recorded, status S) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.last[id]
	switch {
	case !ok:
		return 0
	case equality.Semantic.DeepEqual(recorded, status):
		r.store(id, last, status) // An earlier write may have succeeded without an answer.
		return 0
	case !r.isOnlyProgress(recorded, status):
		return 0
	}
	share := time.Duration(len(r.last)) * r.Each
	if r.Most > 0 {
		share = min(share, r.Most)
	}
	due := max(0, last.at.Add(max(last.wait, share)).Sub(now))
	if due > 0 {
		last.deferred = &deferral[S]{recorded, status}
		r.last[id] = last
	}
	return due
}

// Wrote records that status was written over the recorded status: [Reports.Defer] counts the
// time from now.
func (r *Reports[S]) Wrote(id object.ID, now time.Time, recorded, status S) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait := r.First
	if last, ok := r.last[id]; ok && r.isOnlyProgress(recorded, status) {
		wait = max(wait, now.Sub(last.at)*time.Duration(r.Ratio))
	}
	r.store(id, report[S]{at: now, wait: wait}, status)
}

// store records a report without a deferred status, or drops the report if
// [Reports.IsProgressing] returns false for the status. The caller holds Reports.mu.
func (r *Reports[S]) store(id object.ID, last report[S], status S) {
	if !r.IsProgressing(status) {
		delete(r.last, id)
		return
	}
	if r.last == nil {
		r.last = map[object.ID]report[S]{}
	}
	last.deferred = nil
	r.last[id] = last
}

// Forget drops the record of a deleted object.
func (r *Reports[S]) Forget(id object.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, id)
}

// Len returns the number of objects in progress (see [Reports.IsProgressing]).
func (r *Reports[S]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.last)
}

func (r *Reports[S]) isOnlyProgress(recorded, status S) bool {
	return r.IsProgressing(status) && equality.Semantic.DeepEqual(r.Coarse(recorded), r.Coarse(status))
}
