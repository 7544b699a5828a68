package relation

import (
	"sync"
	"time"

	"github.com/kinship-dev/kinship/pkg/object"
)

// A pace wakes leastBurst declarers of a namespace at once, and more after each burstPause. If a pass takes 2 ms, these
// passes occupy one processor, and the others are left to other namespaces. Of more than 1,000 waiting declarers, a
// burst is the 125th part: 10,000 declarers are woken in 7 seconds.
const (
	leastBurst = 8
	burstPause = 16 * time.Millisecond
	burstPart  = 125
)

// pace wakes the declarers of selectors that select other objects than before. A change of one label may concern 300
// Usages, and a tenant may change the label all the time. The pace wakes the Usages in bursts, and a Usage that waits
// for its burst is woken once, for all changes meanwhile. Each namespace has bursts of its own: the Usages of other
// tenants do not wait. The zero value is ready.
type pace struct {
	mu sync.Mutex
	// waiting has the declarers of each namespace that wait for a burst. A namespace without a key had no burst in the
	// last burstPause.
	waiting map[string]*queue
}

// queue has each declarer once, in the order of the first request.
type queue struct {
	ids   []object.ID
	known map[object.ID]struct{}
}

func (q *queue) add(id object.ID) {
	if _, isKnown := q.known[id]; !isKnown {
		q.known[id] = struct{}{}
		q.ids = append(q.ids, id)
	}
}

// take removes the declarers of the next burst.
func (q *queue) take() []object.ID {
	n := min(len(q.ids), max(leastBurst, len(q.ids)/burstPart))
	burst := q.ids[:n:n]
	q.ids = q.ids[n:]
	for _, id := range burst {
		delete(q.known, id)
	}
	return burst
}

// wake has call called with some declarers, now or in a later burst of their namespace. wake does not block.
func (p *pace) wake(call func(object.ID), declarers ...object.ID) {
	bursts := map[string]bool{}
	p.mu.Lock()
	for _, id := range declarers {
		q := p.waiting[id.Namespace]
		if q == nil {
			if p.waiting == nil {
				p.waiting = map[string]*queue{}
			}
			q = &queue{known: map[object.ID]struct{}{}}
			p.waiting[id.Namespace] = q
			bursts[id.Namespace] = true
		}
		q.add(id)
	}
	p.mu.Unlock()
	for namespace := range bursts {
		p.burst(call, namespace)
	}
}

// burst calls call with the next declarers of a namespace, and again after burstPause until no declarer waits.
func (p *pace) burst(call func(object.ID), namespace string) {
	ids := p.next(namespace)
	if len(ids) == 0 {
		return
	}
	for _, id := range ids {
		call(id)
	}
	time.AfterFunc(burstPause, func() { p.burst(call, namespace) })
}

// next returns the declarers of the next burst of a namespace, or ends the bursts.
func (p *pace) next(namespace string) []object.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	q, begun := p.waiting[namespace]
	if !begun || len(q.ids) == 0 {
		delete(p.waiting, namespace)
		return nil
	}
	return q.take()
}
