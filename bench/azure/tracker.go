package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tracker watches the objects of the kinds in rig.track.
type tracker struct {
	stop   context.CancelFunc
	events chan sight
	// became, left and ended are the times at which a watch showed an object as Ready the first
	// time, with a deletionTimestamp, and as deleted. The keys are element.key().
	became, left, ended map[string]time.Time
}

// sight is a change of an object, as rig.follow sends it.
type sight struct {
	key                  string
	at                   time.Time
	ready, leaving, gone bool
	failed               error
}

// track starts a rig.follow for each of kinds.
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

// follow sends the changes of the objects of a kind to tracker.events. The API server ends a watch
// after a change of the kind's CustomResourceDefinition, or under load: followOnce then lists the
// objects again, because an object may have been deleted between two watches.
func (r *rig) follow(ctx context.Context, kind string, to chan<- sight) {
	send := func(s sight) {
		select {
		case to <- s:
		case <-ctx.Done():
		}
	}
	known := map[string]bool{}
	for ctx.Err() == nil {
		err := r.followOnce(ctx, kind, known, send)
		if err != nil && !apierrors.IsTimeout(err) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			send(sight{failed: err})
			return
		}
		_ = pause(ctx, 10*time.Millisecond) // An error is that of ctx.
	}
}

// followOnce lists the objects of a kind, and calls send for each change until the watch ends. The
// map known has the element.key() of each object that exists.
func (r *rig) followOnce(ctx context.Context, kind string, known map[string]bool, send func(sight)) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(r.blank(kind).GroupVersionKind())
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list %s: %w", kind, err)
	}
	listed := map[string]bool{}
	for i := range list.Items {
		seen := sightOf(kind, &list.Items[i])
		listed[seen.key] = true
		send(seen)
	}
	for key := range known {
		if !listed[key] {
			send(sight{key: key, at: time.Now(), gone: true})
		}
	}
	clear(known)
	maps.Copy(known, listed)
	w, err := r.client.Watch(ctx, list, &client.ListOptions{
		Namespace: namespace, Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()},
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", kind, err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return fmt.Errorf("the watch of %s failed: %w", kind, apierrors.FromObject(event.Object))
		}
		seen := sightOf(kind, u)
		seen.gone = event.Type == watch.Deleted
		if known[seen.key] = true; seen.gone {
			delete(known, seen.key)
		}
		send(seen)
	}
	return nil
}

func sightOf(kind string, u *unstructured.Unstructured) sight {
	return sight{
		key: kind + "/" + u.GetName(), at: time.Now(), ready: isTrue(u, "Ready"), leaving: u.GetDeletionTimestamp() != nil,
	}
}

// conditionsOf returns the status of each condition of an object, by type.
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

// patience bounds tracker.await.
const patience = 10 * time.Minute

// ready waits until all elements are Ready, and returns when the last element was.
func (t *tracker) ready(ctx context.Context, elements ...element) (time.Time, error) {
	return t.await(ctx, t.became, elements)
}

// gone waits until all elements are deleted, and returns when the last element was.
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
