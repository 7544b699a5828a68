package watch_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

func TestOverlay(t *testing.T) {
	id, other := object.ID{Kind: "K", Name: "a"}, object.ID{Kind: "K", Name: "b"}
	var o watch.Overlay[string]
	for _, s := range []struct {
		reason string
		before func()
		id     object.ID
		shown  string
		want   string // empty if the store is not behind
	}{
		{"nothing was written", nil, id, "1", ""},
		{"the store is behind", func() { o.Wrote(id, "10", "ten") }, id, "9", "ten"},
		{"it is still behind", nil, id, "9", "ten"},
		{"it does not show the object yet", nil, id, "", "ten"},
		{"another object was not written", nil, other, "9", ""},
		{"the store shows the write", nil, id, "10", ""},
		{"a write that was shown is forgotten", nil, id, "9", ""},
		{"longer is larger: versions are numbers", func() { o.Wrote(id, "100", "hundred") }, id, "99", "hundred"},
		{"the last write counts", func() { o.Wrote(id, "101", "more") }, id, "100", "more"},
		{"somebody else wrote later", nil, id, "102", ""},
		{"the object is gone", func() { o.Wrote(id, "200", "x"); o.Forget(id) }, id, "150", ""},
		{
			"another one is gone",
			func() { o.Wrote(id, "300", "x"); o.ForgetIf(id, func(v string) bool { return v != "x" }) }, id, "250", "x",
		},
		{"to wait for what can't be compared could last for ever", nil, id, "not a number", ""},
	} {
		if s.before != nil {
			s.before()
		}
		got, ahead := o.Ahead(s.id, s.shown)
		if got != s.want || ahead != (s.want != "") {
			t.Errorf("%s: %q, ahead %t, want %q", s.reason, got, ahead, s.want)
		}
	}
	if o.Len() != 0 {
		t.Errorf("%d writes are held of objects that were shown", o.Len())
	}
}

// TestOverlayLook reads one store from many goroutines while its object is written. No
// goroutine gets an older version than the newest version that was written before the read.
func TestOverlayLook(t *testing.T) {
	id := object.ID{Kind: "K", Name: "a"}
	var o watch.Overlay[int]
	var store struct {
		sync.Mutex
		version int
	}
	store.version = 1 // A resourceVersion is not 0.
	shown := func() int {
		store.Lock()
		defer store.Unlock()
		return store.version
	}
	var written struct {
		sync.Mutex
		version int
	}
	var running sync.WaitGroup
	running.Go(func() {
		for version := 2; version <= 2000; version++ {
			o.Wrote(id, strconv.Itoa(version), version)
			written.Lock()
			written.version = version
			written.Unlock()
			store.Lock()
			store.version = version
			store.Unlock()
		}
	})
	for range 4 {
		running.Go(func() {
			for range 2000 {
				written.Lock()
				least := written.version
				written.Unlock()
				var seen int
				newest, ahead := o.Look(id, func() string { seen = shown(); return strconv.Itoa(seen) })
				if !ahead {
					newest = seen
				}
				if newest < least {
					t.Errorf("got version %d after %d was written", newest, least)
					return
				}
			}
		})
	}
	running.Wait()
}
