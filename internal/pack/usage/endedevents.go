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

// Limits of the events ProtectionEnded. The deletion of a namespace with 10,000 Usages would
// cost 10,000 requests for events that no user reads.
const (
	endedBurst     = 50
	endedPerSecond = 10
	endedBatch     = time.Second
)

// endedEvents records one event for each protection that has ended or, beyond the limits, one
// event for each namespace and second.
type endedEvents struct {
	recorder events.EventRecorder
	limiter  flowcontrol.PassiveRateLimiter
	after    func(time.Duration, func()) // calls a function later

	mu      sync.Mutex
	batched map[string]*endedEvent // by namespace; nil when no flush is due
}

// endedEvent is the last protection of a namespace that has ended, and how many ended before.
type endedEvent struct {
	used, usage runtime.Object
	message     string
	before      int
}

func newEndedEvents(recorder events.EventRecorder) *endedEvents {
	return &endedEvents{
		recorder: recorder, limiter: flowcontrol.NewTokenBucketPassiveRateLimiter(endedPerSecond, endedBurst),
		after: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
	}
}

// record records an event on the used object, or adds the event to the batch of a namespace.
func (e *endedEvents) record(namespace string, used, usage runtime.Object, message string) {
	one := endedEvent{used: used, usage: usage, message: message}
	if e.limiter.TryAccept() {
		e.send(one)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.batched == nil {
		e.batched = map[string]*endedEvent{}
		e.after(endedBatch, e.flush)
	}
	if last := e.batched[namespace]; last != nil {
		one.before = last.before + 1
	}
	e.batched[namespace] = &one
}

// flush records one event for each namespace of the batch.
func (e *endedEvents) flush() {
	e.mu.Lock()
	batched := e.batched
	e.batched = nil
	e.mu.Unlock()
	for _, namespace := range slices.Sorted(maps.Keys(batched)) {
		e.send(*batched[namespace])
	}
}

func (e *endedEvents) send(one endedEvent) {
	if one.before > 0 {
		one.message += fmt.Sprintf("; so did the protection of others in this namespace: %d times within %s",
			one.before, endedBatch)
	}
	e.recorder.Eventf(one.used, one.usage, "Normal", "ProtectionEnded", "Protect", "%s", one.message)
}
