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

	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// usageChanged updates the edges of a Usage, and starts a pass unless the event shows nothing
// but an own write. Two own writes start a pass, too: the write that gives the Usage its first
// edges, because lockUsed waits for these edges, and a record that a webhook added to
// status.refused, because deleteUsingFirst works on the records of the namespace controller.
func (p *parts) usageChanged(c watch.Change[usage]) {
	id := identify(c.Object())
	before := p.ledger.Declared.Declared(id)
	p.ledger.Update(id)
	now := p.ledger.Declared.Declared(id)
	if c.Created() || c.Deleted() || p.writes.Concerns(id, c.Old, c.New) ||
		(len(before) == 0 && len(now) > 0) || hasNewRecord(c.Old.UsageStatus(), c.New.UsageStatus()) {
		p.usages.Add(id)
	}
}

// grantsChanged updates the Usages that name an object of another namespace.
func (p *parts) grantsChanged() {
	for _, u := range p.store.all() {
		if reachesOut(u) {
			p.ledger.Update(identify(u))
			p.ledger.Declarer(identify(u))
		}
	}
}

// reconcileAll starts a pass of every Usage.
func (p *parts) reconcileAll() {
	for _, id := range p.store.ids() {
		p.usages.Add(id)
	}
}

// unread reports whether a Usage exists that no informer can read.
func (p *parts) unread() bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return p.env.Health.Unreadable(k.GroupKind()) > 0 })
}

// lockRemoved records an event when the lock of an object in use was removed. The lock controller
// adds the lock again.
func (p *parts) lockRemoved(c relation.Change) {
	if c.Old == nil || c.New == nil || !p.locks.Running() || !p.lock.On(*c.Old) || p.lock.On(*c.New) ||
		p.ledger.Hold(*c.New) != relation.Held {
		return
	}
	mapping, err := p.env.Watcher.Mapping(c.New.ID.GroupKind().WithVersion(""))
	if err != nil {
		return
	}
	ref := referenceTo(mapping.Resource.GroupVersion().String(), c.New.ID)
	ref.UID = c.New.UID
	p.mgr.GetEventRecorder(fieldOwner).Eventf(ref, nil, "Warning", "LockRestored", "Protect",
		"label %s was removed while the object is in use; it is put back", lockLabel)
}

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
