package reconcile

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kinship-dev/kinship/pkg/locked"
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
	// First is the least time between two status writes of an object that only report progress
	// ([Reports.IsProgressing]).
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

	last locked.Map[object.ID, report[S]] // of the objects in progress
}

// report is the last status write of an object ([Reports.Wrote]), and the deferral since
// ([Reports.Defer]).
type report[S any] struct {
	at       time.Time
	wait     time.Duration
	deferred *deferral[S]
}

// deferral is a status that [Reports.Defer] kept from being written, and the status of the API
// server at that time.
type deferral[S any] struct{ recorded, status S }

// Latest returns the status that [Reports.Defer] has deferred if the deferral was based on the
// recorded status, and the recorded status otherwise. The caller MUST copy the result before a
// change.
func (r *Reports[S]) Latest(id object.ID, recorded S) S {
	if d := r.last.Get(id).deferred; d != nil && equality.Semantic.DeepEqual(d.recorded, recorded) {
		return d.status
	}
	return recorded
}

// Defer returns how long the write of a status is deferred; zero means that the status is to be
// written now and then passed to [Reports.Wrote]. A deferred status MUST NOT be changed by the
// caller afterwards.
func (r *Reports[S]) Defer(id object.ID, now time.Time, recorded, status S) (due time.Duration) {
	isSame, isProgressing := equality.Semantic.DeepEqual(recorded, status), r.IsProgressing(status)
	onlyProgress := r.isOnlyProgress(recorded, status)
	share := time.Duration(r.last.Len()) * r.Each
	if r.Most > 0 {
		share = min(share, r.Most)
	}
	r.last.Update(id, func(last report[S], known bool) (report[S], bool) {
		switch {
		case !known:
			return last, false
		case isSame: // An earlier write may have succeeded without an answer.
			last.deferred = nil
			return last, isProgressing
		case !onlyProgress:
			return last, true
		}
		if due = max(0, last.at.Add(max(last.wait, share)).Sub(now)); due > 0 {
			last.deferred = &deferral[S]{recorded, status}
		}
		return last, true
	})
	return due
}

// Wrote records that status was written over the recorded status: [Reports.Defer] counts the
// time from now.
func (r *Reports[S]) Wrote(id object.ID, now time.Time, recorded, status S) {
	isProgressing, onlyProgress := r.IsProgressing(status), r.isOnlyProgress(recorded, status)
	r.last.Update(id, func(last report[S], known bool) (report[S], bool) {
		wait := r.First
		if known && onlyProgress {
			wait = max(wait, now.Sub(last.at)*time.Duration(r.Ratio))
		}
		return report[S]{at: now, wait: wait}, isProgressing
	})
}

// Forget drops the record of a deleted object.
func (r *Reports[S]) Forget(id object.ID) {
	r.last.Delete(id)
}

// Len returns the number of objects in progress (see [Reports.IsProgressing]).
func (r *Reports[S]) Len() int {
	return r.last.Len()
}

func (r *Reports[S]) isOnlyProgress(recorded, status S) bool {
	return r.IsProgressing(status) && equality.Semantic.DeepEqual(r.Coarse(recorded), r.Coarse(status))
}
