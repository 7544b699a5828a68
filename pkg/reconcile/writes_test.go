package reconcile_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

func TestWrites(t *testing.T) {
	id, other := object.ID{Kind: "K", Name: "a"}, object.ID{Kind: "K", Name: "b"}
	steps := []struct {
		reason string
		before func(*reconcile.Writes)
		id     object.ID
		cached string
		unseen bool
	}{
		{"nothing was written", nil, id, "1", false},
		{"the cache is behind", func(w *reconcile.Writes) { w.Wrote(id, "10") }, id, "9", true},
		{"it is still behind", nil, id, "9", true},
		{"another object was not written", nil, other, "9", false},
		{"the cache shows the write", nil, id, "10", false},
		{"a write that was seen is forgotten", nil, id, "9", false},
		{"longer is larger: versions are numbers", func(w *reconcile.Writes) { w.Wrote(id, "100") }, id, "99", true},
		{"somebody else wrote later", nil, id, "101", false},
		{"it is gone", func(w *reconcile.Writes) { w.Wrote(id, "200"); w.Forget(id) }, id, "150", false},
		{
			"to wait for what can't be compared could last for ever",
			func(w *reconcile.Writes) { w.Wrote(id, "300") }, id, "not a number", false,
		},
	}
	var w reconcile.Writes
	for _, s := range steps {
		if s.before != nil {
			s.before(&w)
		}
		if got := w.Unseen(s.id, s.cached); got != s.unseen {
			t.Errorf("%s: unseen %t, want %t", s.reason, got, s.unseen)
		}
	}
}

// TestWritesConcurrently is for the race detector.
func TestWritesConcurrently(t *testing.T) {
	var w reconcile.Writes
	var running sync.WaitGroup
	for n := range 8 {
		id := object.ID{Kind: "K", Name: strconv.Itoa(n % 2)}
		running.Go(func() {
			for version := range 100 {
				w.Wrote(id, strconv.Itoa(version+1))
				w.Unseen(id, strconv.Itoa(version))
			}
			w.Forget(id)
		})
	}
	running.Wait()
	if w.Unseen(object.ID{Kind: "K", Name: "0"}, "0") {
		t.Error("a write is remembered of an object that is gone")
	}
}
