package external

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

// fresh is how long a list of resources is used. It is as long as the shortest time between two
// polls of one object.
const fresh = 400 * time.Millisecond

// kept is how long a list is kept in memory: longer than fresh, since clocks differ.
const kept = 5 * time.Second

// unlisted is how long no list is requested of a Scope whose list was larger than the memory for
// lists.
const unlisted = 10 * time.Minute

// observer reads resources for many objects. If several objects of one Scope read their resources
// within the time fresh, one List serves all objects, in place of a Get for each object.
type observer[R any] struct {
	clock    clock.PassiveClock
	identify func(R) Identity
	account  func(context.Context) (context.Context, func())
	flights  singleflight.Group

	mu     sync.Mutex
	scopes map[string]*view[R] // of the Scopes with a look within the time kept, and few others
	// changes counts the changes of all Scopes. A list that was requested for a dropped view has
	// another count than the next view of that Scope, and the next view does not take the list.
	changes int
}

// view is the last list of one Scope.
type view[R any] struct {
	asked  time.Time // when a resource of the Scope was last read
	taken  time.Time // when the list was requested
	listed map[string]R
	end    func()    // of the list's account
	long   time.Time // until when no list is requested, since the last one was too long
	// changes is the count at the last change: a list that was requested before shows the resources
	// as they were.
	changes int
}

// drop frees the memory of the list.
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

// lookup is one read of one resource.
type lookup struct {
	scope, id string
	// after is the moment of the last change that the read has to show.
	after time.Time
	// underway says that the last read found the resource in the middle of a change.
	underway bool
}

// look returns the state of a resource after the moment l.after, from a list of many
// resources or from Get. look calls Get for a resource that the list lacks, because a list
// proves no deletion, and for a resource of which the list has too few fields.
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

// changed drops the list of a Scope in which a resource was changed.
func (o *observer[R]) changed(scope string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v := o.scopes[scope]; v != nil {
		o.changes++
		v.changes = o.changes
		v.drop()
	}
}

// crowded reports whether another resource of the Scope was read a moment ago, so that a list serves
// both. It is false while no list is requested of the Scope.
func (o *observer[R]) crowded(scope string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	v, now := o.view(scope), o.clock.Now()
	before := v.asked
	v.asked = now
	return now.Sub(before) < fresh && !now.Before(v.long)
}

// view returns the view of a Scope. Scopes come and go with objects and credentials. A new view
// drops the views that had no look for the time kept, unless view.long is still to come.
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

// expire drops a list unless a newer one has replaced it.
func (o *observer[R]) expire(v *view[R], taken time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v.taken.Equal(taken) {
		v.drop()
	}
}

// list returns the list of a Scope. A list that another object has just requested may be older than
// after.
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

// fetch requests a list, and keeps it for others unless a resource of the Scope was changed meanwhile.
func (o *observer[R]) fetch(ctx context.Context, v *view[R], changes int, lister Lister[R]) (view[R], error) {
	asked := o.clock.Now()
	ctx, end := o.account(ctx)
	found, err := lister.List(ctx)
	if err != nil {
		end()
		if known, ok := errors.AsType[*Error](err); ok && known.TooMuch {
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
