package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tracker watches the objects of kinds.
type tracker struct {
	stop   context.CancelFunc
	events chan sight
	// became, left and ended are when objects were seen Ready the first time, marked as deleted, and gone.
	became, left, ended map[string]time.Time
}

// sight is a change of an object.
type sight struct {
	key                  string
	at                   time.Time
	ready, leaving, gone bool
	failed               error
}

// track begins to watch kinds.
func (r *rig) track(ctx context.Context, kinds ...string) *tracker {
	ctx, stop := context.WithCancel(ctx)
	t := &tracker{
		stop: stop, events: make(chan sight, 1000), became: map[string]time.Time{}, left: map[string]time.Time{},
		ended: map[string]time.Time{},
	}
	for _, kind := range kinds {
		go r.follow(ctx, kind, t.events)
	}
	return t
}

// follow sends the changes of the objects of a kind. The API server ends the watches of a kind when it has
// installed the kind's definition anew.
func (r *rig) follow(ctx context.Context, kind string, to chan<- sight) {
	send := func(s sight) {
		select {
		case to <- s:
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil {
		if err := r.followOnce(ctx, kind, send); err != nil {
			send(sight{failed: err})
			return
		}
	}
}

func (r *rig) followOnce(ctx context.Context, kind string, send func(sight)) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(r.blank(kind).GroupVersionKind())
	w, err := r.client.Watch(ctx, list, client.InNamespace(namespace))
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind, err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return fmt.Errorf("the watch of %s failed: %v", kind, event.Object)
		}
		send(sight{
			key: kind + "/" + u.GetName(), at: time.Now(), ready: isTrue(u, "Ready"), leaving: u.GetDeletionTimestamp() != nil,
			gone: event.Type == watch.Deleted,
		})
	}
	return nil
}

// conditionsOf returns the conditions of an object, by their types.
func conditionsOf(u *unstructured.Unstructured) map[any]any {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	statuses := map[any]any{}
	for _, item := range list {
		if c, ok := item.(map[string]any); ok {
			statuses[c["type"]] = c["status"]
		}
	}
	return statuses
}

// isTrue reports whether a condition of an object is True.
func isTrue(u *unstructured.Unstructured, condition string) bool {
	return conditionsOf(u)[condition] == "True"
}

// patience is how long objects may take.
const patience = 10 * time.Minute

// ready waits until elements are Ready, and returns when the last one was.
func (t *tracker) ready(ctx context.Context, elements ...element) (time.Time, error) {
	return t.await(ctx, t.became, elements)
}

// gone waits until elements are gone, and returns when the last one was.
func (t *tracker) gone(ctx context.Context, elements ...element) (time.Time, error) {
	return t.await(ctx, t.ended, elements)
}

func (t *tracker) await(
	ctx context.Context, reached map[string]time.Time, elements []element,
) (last time.Time, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not all were seen after %s", patience))
	defer cancel()
	for _, e := range elements {
		for reached[e.key()].IsZero() {
			select {
			case <-ctx.Done():
				return last, fmt.Errorf("wait for %s: %w", e.key(), context.Cause(ctx))
			case s := <-t.events:
				if s.failed != nil {
					return last, s.failed
				}
				t.note(s)
			}
		}
		if reached[e.key()].After(last) {
			last = reached[e.key()]
		}
	}
	return last, nil
}

func (t *tracker) note(s sight) {
	for _, one := range []struct {
		is bool
		at map[string]time.Time
	}{{s.ready, t.became}, {s.leaving, t.left}, {s.gone, t.ended}} {
		if one.is && one.at[s.key].IsZero() {
			one.at[s.key] = s.at
		}
	}
}
