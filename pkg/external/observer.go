package external

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fresh is how long observer.list reuses a list of resources. fresh is shorter than the shortest pause
// between two polls of an object (polls.plan).
const fresh = 400 * time.Millisecond

// kept is how long a list is kept in memory (observer.expire): longer than fresh, since clocks differ.
const kept = 5 * time.Second

// unlisted is how long observer.crowded prevents lists of a Scope, after a list that was larger than the
// memory for lists ([Error.TooMuch]).
const unlisted = 10 * time.Minute

// observer reads resources for many objects. If several objects of an [Access.Scope] read their resources
// within the time fresh, a single [Lister.List] replaces a Get for each object.
type observer[R any] struct {
	clock    clock.PassiveClock
	identify func(R) Identity
	account  func(context.Context) (context.Context, func())
	flights  singleflight.Group

	mu     sync.Mutex
	scopes map[string]*view[R] // of the Scopes with a look within the time kept, and few others
	// changes counts the changes of all Scopes and the new views. After observer.view has dropped the view of
	// Scope s, the next view of s has another view.changes. observer.list uses the count in its key for
	// observer.flights, so the next view does not take a list that was requested for the dropped view.
	changes int
}

// view is the last list of a Scope.
type view[R any] struct {
	asked  time.Time // when a resource of the Scope was last read
	taken  time.Time // when the list was requested
	listed map[string]R
	end    func()    // of the list's account
	long   time.Time // until when no list is requested, since the last one was too long
	// changes is observer.changes at the last change. A list that was requested before that change shows the
	// old resources, and observer.fetch does not store the list.
	changes int
}

// drop frees the memory of the list ([Options.Account]).
func (v *view[R]) drop() {
	if v.end != nil {
		v.end()
	}
	v.listed, v.end = nil, nil
}

func newObserver[R any](
	c clock.PassiveClock, identify func(R) Identity, account func(context.Context) (context.Context, func()),
) *observer[R] {
	return &observer[R]{clock: c, identify: identify, account: account, scopes: map[string]*view[R]{}}
}

// lookup is a read of a single resource.
type lookup struct {
	scope, id string
	// after is the time of the last change that the read must show.
	after time.Time
	// underway says that the last read found the resource in the middle of a change.
	underway bool
}

// look returns the state of a resource after lookup.after, from a list (observer.list) or from Get. look
// calls Get if the list lacks the resource, because a list proves no deletion. look also calls Get if
// PartialLister.IsPartial is true for the listed resource.
func (o *observer[R]) look(
	ctx context.Context, l lookup, actuator any, get func(context.Context) (R, error),
) (R, error) {
	lister, ok := actuator.(Lister[R])
	partial, lacks := actuator.(PartialLister[R])
	if !ok || !o.crowded(l.scope) || (lacks && !l.underway) {
		return get(ctx)
	}
	seen, err := o.list(ctx, l.scope, l.after, lister)
	resource, ok := seen.listed[l.id]
	if err != nil || !ok || seen.taken.Before(l.after) {
		return get(ctx) // The credentials may allow Get and not List.
	}
	if lacks && partial.IsPartial(resource) {
		return get(ctx)
	}
	return resource, nil
}

// changed drops the list of a Scope after Actuator.Update or Actuator.Delete of a resource in the Scope.
func (o *observer[R]) changed(scope string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v := o.scopes[scope]; v != nil {
		o.changes++
		v.changes = o.changes
		v.drop()
	}
}

// crowded reports whether another resource of the Scope was read within the time fresh, so that a list
// serves both reads. crowded is false until view.long.
func (o *observer[R]) crowded(scope string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	v, now := o.view(scope), o.clock.Now()
	before := v.asked
	v.asked = now
	return now.Sub(before) < fresh && !now.Before(v.long)
}

// view returns the view of a Scope, and makes a view for a new Scope. With each new view, the old views
// are dropped: view.asked is longer ago than kept, and view.long has passed.
func (o *observer[R]) view(scope string) *view[R] {
	if v := o.scopes[scope]; v != nil {
		return v
	}
	now := o.clock.Now()
	maps.DeleteFunc(o.scopes, func(_ string, v *view[R]) bool {
		old := now.Sub(v.asked) > kept
		if old {
			v.drop()
		}
		return old && !now.Before(v.long)
	})
	o.changes++
	v := &view[R]{changes: o.changes}
	o.scopes[scope] = v
	return v
}

// expire drops a list unless a newer list (view.taken) has replaced the old list.
func (o *observer[R]) expire(v *view[R], taken time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v.taken.Equal(taken) {
		v.drop()
	}
}

// list returns the list of a Scope. The list may be older than the time after if another object has just
// requested the list (observer.flights).
func (o *observer[R]) list(ctx context.Context, scope string, after time.Time, lister Lister[R]) (view[R], error) {
	o.mu.Lock()
	v := o.view(scope)
	if v.listed != nil && o.clock.Since(v.taken) < fresh && !v.taken.Before(after) {
		defer o.mu.Unlock()
		return *v, nil
	}
	changes := v.changes
	o.mu.Unlock()
	all, err, _ := o.flights.Do(fmt.Sprintf("%s %d", scope, changes), func() (any, error) {
		return o.fetch(ctx, v, changes, lister)
	})
	if err != nil {
		return view[R]{}, err
	}
	return all.(view[R]), nil
}

// fetch calls [Lister.List], and stores the list in view.listed unless a resource of the Scope was changed
// meanwhile (view.changes).
func (o *observer[R]) fetch(ctx context.Context, v *view[R], changes int, lister Lister[R]) (view[R], error) {
	asked := o.clock.Now()
	ctx, end := o.account(ctx)
	found, err := lister.List(ctx)
	if err != nil {
		end()
		if errorOf(err).TooMuch {
			o.mu.Lock()
			defer o.mu.Unlock()
			v.long = asked.Add(unlisted)
		}
		return view[R]{}, fmt.Errorf("list resources: %w", err)
	}
	listed := make(map[string]R, len(found))
	for _, r := range found {
		listed[o.identify(r).ID] = r
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if v.changes != changes {
		end()
	} else {
		v.drop()
		v.taken, v.listed, v.end = asked, listed, end
		time.AfterFunc(kept, func() { o.expire(v, asked) })
	}
	return view[R]{taken: asked, listed: listed}, nil
}

// LookNow is the annotation by which a user requests an immediate comparison of a resource with its spec.
// Every new value counts. LookNow decides nothing else: the operator does the same as after
// spec.resyncPeriod or [Options.Resync].
const LookNow = "kinship.dev/look-now"

// lookPause is the shortest time between two comparisons by [LookNow] of a resource.
const lookPause = 5 * time.Second

// lookWanted requeues an object with a new value of [LookNow]. A value that a user writes while the
// operator is down has no effect.
func (e *Engine) lookWanted(one *record, old, now client.Object) {
	value := now.GetAnnotations()[LookNow]
	if old != nil && value != "" && value != old.GetAnnotations()[LookNow] {
		one.lookWanted.Store(true)
		e.core.Requeue(one.id)
	}
}

// popLook reports whether the user's request for a comparison is served now. Within lookPause of the last
// comparison, popLook returns the later time.
func (r *record) popLook(now time.Time) (look bool, later time.Time) {
	if !r.lookWanted.Load() {
		return false, time.Time{}
	}
	if next := r.looked.Add(lookPause); now.Before(next) {
		return false, next
	}
	r.lookWanted.Store(false)
	r.looked = now
	return true, time.Time{}
}
