package main

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func newObserver() *observer {
	return &observer{waiting: map[string][]*expectation{}, failed: make(chan struct{})}
}

func metadata(name string, labels map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func TestObserver(t *testing.T) {
	o := newObserver()
	labelled, gone := o.expect("a", "labelled", isLabelled), o.expect("a", "gone", isGone)
	other := o.expect("b", "labelled", isLabelled)
	events := watch.NewFakeWithChanSize(4, false)
	events.Add(metadata("a", nil))
	events.Modify(metadata("a", map[string]string{lockLabel: lockValue}))
	events.Delete(metadata("a", nil))
	events.Stop()
	o.run(events)

	first, err := labelled.wait(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	last, err := waitAll(t.Context(), []*expectation{gone}, time.Minute)
	if err != nil || last.Before(first) {
		t.Errorf("each expectation has the time of its own event: %v, %v, %v", first, last, err)
	}
	if _, err := other.wait(t.Context(), time.Minute); !errors.Is(err, errWatchEnded) {
		t.Errorf("got %v: nobody waits for a watch that has ended", err)
	}
	if len(o.waiting) != 1 {
		t.Errorf("%d names are waited for; what was seen is forgotten", len(o.waiting))
	}
}

func TestWaitAllSaysHowFar(t *testing.T) {
	o := newObserver()
	_, err := waitAll(t.Context(), []*expectation{o.expect("a", "labelled", isLabelled)}, time.Millisecond)
	if !errors.Is(err, errNotSeen) {
		t.Errorf("got %v, want %v", err, errNotSeen)
	}
}

func TestPredicates(t *testing.T) {
	usage := func(conditions ...any) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
	}
	ready := map[string]any{"type": "Ready", "status": "True"}
	unready := map[string]any{"type": "Ready", "status": "False"}
	other := map[string]any{"type": "Other"}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	open := metadata("a", map[string]string{lockLabel: "false"})
	locked := metadata("a", map[string]string{lockLabel: lockValue})
	cases := map[string]struct {
		reason string
		holds  predicate
		event  watch.EventType
		object runtime.Object
		want   bool
	}{
		"ready":           {"the condition is found behind others", isReady, watch.Modified, usage(other, ready), true},
		"not ready":       {"False is not True", isReady, watch.Modified, usage(unready), false},
		"no status":       {"a new Usage has no status", isReady, watch.Added, empty, false},
		"deleted ready":   {"what is gone is not ready", isReady, watch.Deleted, usage(ready), false},
		"labelled":        {"the label locks", isLabelled, watch.Modified, locked, true},
		"other value":     {"only true locks", isLabelled, watch.Modified, open, false},
		"unlabelled":      {"without the label it is free", isUnlabelled, watch.Modified, metadata("a", nil), true},
		"gone":            {"what is gone needs no label", isUnlabelled, watch.Deleted, locked, true},
		"still labelled":  {"it is not free while it is labelled", isUnlabelled, watch.Modified, locked, false},
		"metadata, ready": {"without a status nothing is ready", isReady, watch.Modified, locked, false},
	}
	got, want := map[string]bool{}, map[string]bool{}
	for name, c := range cases {
		got[name+": "+c.reason], want[name+": "+c.reason] = c.holds(c.event, c.object), c.want
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
