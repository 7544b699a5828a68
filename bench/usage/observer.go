package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// predicate reports whether a watch event shows the expected change.
type predicate func(watch.EventType, runtime.Object) bool

// observer returns the times at which a watch showed the changes that expectations name.
type observer struct {
	mu      sync.Mutex
	waiting map[string][]*expectation
	// failed is closed when the watch has ended for good; observer.err is set earlier.
	failed chan struct{}
	err    error
}

// expectation is an expected change of an object.
type expectation struct {
	what     string
	holds    predicate
	seen     chan time.Time
	observer *observer
}

var errWatchEnded = errors.New("the watch ended")

// observe starts a watch at the resourceVersion of list. The watch ends with the context.
func observe(ctx context.Context, list listFunc, watchFrom cache.WatchFuncWithContext) (*observer, error) {
	version, err := list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list before the watch: %w", err)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, version, &cache.ListWatch{WatchFuncWithContext: watchFrom})
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	o := &observer{waiting: map[string][]*expectation{}, failed: make(chan struct{})}
	go o.run(watcher)
	return o, nil
}

// listFunc returns the resourceVersion at which a watch begins.
type listFunc func(context.Context) (string, error)

func (o *observer) run(events watch.Interface) {
	for event := range events.ResultChan() {
		now := time.Now() // First of all: this time is the measurement.
		if event.Type == watch.Error {
			o.err = fmt.Errorf("%w: %v", errWatchEnded, event.Object)
			break
		}
		o.deliver(now, event)
	}
	if o.err == nil {
		o.err = errWatchEnded
	}
	close(o.failed)
}

func (o *observer) deliver(now time.Time, event watch.Event) {
	object, err := meta.Accessor(event.Object)
	if err != nil {
		return // A bookmark or a Status is no object.
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	waiting := o.waiting[object.GetName()]
	if len(waiting) == 0 {
		return
	}
	var rest []*expectation
	for _, e := range waiting {
		if e.holds(event.Type, event.Object) {
			e.seen <- now
		} else {
			rest = append(rest, e)
		}
	}
	if len(rest) == 0 {
		delete(o.waiting, object.GetName())
		return
	}
	o.waiting[object.GetName()] = rest
}

// expect registers an expectation. A scenario calls expect before the request that causes the
// change: only later events count.
func (o *observer) expect(name, what string, holds predicate) *expectation {
	e := &expectation{what: name + " to be " + what, holds: holds, seen: make(chan time.Time, 1), observer: o}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting[name] = append(o.waiting[name], e)
	return e
}

// errNotSeen is wrapped if a watch does not show an expected change in time.
var errNotSeen = errors.New("not seen in time")

// wait returns the time at which the watch showed the change.
func (e *expectation) wait(ctx context.Context, patience time.Duration) (time.Time, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var reason error
	select {
	case at := <-e.seen:
		return at, nil
	case <-timer.C:
		reason = fmt.Errorf("%w (%s)", errNotSeen, patience)
	case <-e.observer.failed:
		reason = e.observer.err
	case <-ctx.Done():
		reason = ctx.Err()
	}
	select {
	case at := <-e.seen: // The event came before the end of the watch, or of the time.
		return at, nil
	default:
		return time.Time{}, fmt.Errorf("wait for %s: %w", e.what, reason)
	}
}

// waitAll returns the time of the last change of all expectations.
func waitAll(ctx context.Context, all []*expectation, patience time.Duration) (time.Time, error) {
	deadline := time.Now().Add(patience)
	var last time.Time
	for i, e := range all {
		at, err := e.wait(ctx, time.Until(deadline))
		if err != nil {
			return time.Time{}, fmt.Errorf("%d of %d seen: %w", i, len(all), err)
		}
		if at.After(last) {
			last = at
		}
	}
	return last, nil
}

func isLabelled(event watch.EventType, object runtime.Object) bool {
	return event != watch.Deleted && hasLock(object)
}

func isUnlabelled(event watch.EventType, object runtime.Object) bool {
	return event == watch.Deleted || !hasLock(object)
}

func isGone(event watch.EventType, _ runtime.Object) bool { return event == watch.Deleted }

func hasLock(object runtime.Object) bool {
	accessor, err := meta.Accessor(object)
	return err == nil && accessor.GetLabels()[lockLabel] == lockValue
}

// isReady reads status.conditions without a copy of the object, because thousands of events arrive
// while the machine is busy.
func isReady(event watch.EventType, object runtime.Object) bool {
	content, ok := object.(runtime.Unstructured)
	if !ok || event == watch.Deleted {
		return false
	}
	status, _ := content.UnstructuredContent()["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["type"] == "Ready" {
			return condition["status"] == string(metav1.ConditionTrue)
		}
	}
	return false
}
