package usage

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
)

// How many events about the end of a protection are recorded singly. When a namespace with
// thousands of Usages ends, for example, an event for each Usage would cost thousands of
// requests, and nobody would read the events.
const (
	endingsAtOnce    = 50
	endingsPerSecond = 10
	endingsTogether  = time.Second
)

// endings tells of protections that have ended: by an event each, or where many end at once
// by one for all those of a namespace.
type endings struct {
	recorder events.EventRecorder
	each     flowcontrol.PassiveRateLimiter
	after    func(time.Duration, func()) // calls a function later

	mu    sync.Mutex
	left  map[string]*ending // by namespace, not told yet
	wakes bool               // tellLeft will be called
}

// ending is the last protection that ended in a namespace, and how many had before it.
type ending struct {
	used, usage runtime.Object
	message     string
	before      int
}

func newEndings(recorder events.EventRecorder) *endings {
	return &endings{
		recorder: recorder, each: flowcontrol.NewTokenBucketPassiveRateLimiter(endingsPerSecond, endingsAtOnce),
		after: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
	}
}

// tell puts an event on an object that is used no more, or on another one of its namespace
// a moment later.
func (e *endings) tell(namespace string, used, usage runtime.Object, message string) {
	if e.each.TryAccept() {
		e.event(ending{used: used, usage: usage, message: message})
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left == nil {
		e.left = map[string]*ending{}
	}
	one := ending{used: used, usage: usage, message: message}
	if last := e.left[namespace]; last != nil {
		one.before = last.before + 1
	}
	e.left[namespace] = &one
	if !e.wakes {
		e.wakes = true
		e.after(endingsTogether, e.tellLeft)
	}
}

// tellLeft records one event for the endings of a namespace that had no event of their own.
func (e *endings) tellLeft() {
	e.mu.Lock()
	left := e.left
	e.left, e.wakes = nil, false
	e.mu.Unlock()
	for _, namespace := range slices.Sorted(maps.Keys(left)) {
		e.event(*left[namespace])
	}
}

func (e *endings) event(one ending) {
	if one.before > 0 {
		one.message += fmt.Sprintf("; so did the protection of others in this namespace: %d times within %s",
			one.before, endingsTogether)
	}
	e.recorder.Eventf(one.used, one.usage, "Normal", "ProtectionEnded", "Protect", "%s", one.message)
}
