package relation

import (
	"sync"
	"time"

	"github.com/kinship-dev/kinship/pkg/object"
)

// After a pace has woken declarers of a namespace, the pace waits before the pace wakes declarers of the namespace
// again: pauseEach for each woken declarer, and longestPause at most.
const (
	pauseEach    = 2 * time.Millisecond
	longestPause = 2 * time.Second
)

// pace wakes declarers whose selectors select other objects than before. One change of a label may concern 300 Usages,
// and a tenant may change the label all the time. So the first change wakes the declarers at once, and further changes
// wake them together after a pause. Each namespace has a pause of its own: the declarers of other tenants do not wait.
// The zero value is ready.
type pace struct {
	mu sync.Mutex
	// waiting has the declarers of each namespace that has a pause now.
	waiting map[string]map[object.ID]struct{}
}

// wake calls call with some declarers, now or after the pause of their namespace. wake does not block.
func (p *pace) wake(call func(object.ID), declarers ...object.ID) {
	now := map[string]map[object.ID]struct{}{}
	p.mu.Lock()
	if p.waiting == nil {
		p.waiting = map[string]map[object.ID]struct{}{}
	}
	for _, id := range declarers {
		into, pausing := p.waiting[id.Namespace]
		if !pausing {
			if now[id.Namespace] == nil {
				now[id.Namespace] = map[object.ID]struct{}{}
			}
			into = now[id.Namespace]
		}
		into[id] = struct{}{}
	}
	for namespace := range now {
		p.waiting[namespace] = map[object.ID]struct{}{}
	}
	p.mu.Unlock()
	for namespace, ids := range now {
		p.run(call, namespace, ids)
	}
}

// run calls call with some declarers of a namespace, and begins a pause.
func (p *pace) run(call func(object.ID), namespace string, ids map[object.ID]struct{}) {
	for id := range ids {
		call(id)
	}
	time.AfterFunc(min(time.Duration(len(ids))*pauseEach, longestPause), func() { p.resume(call, namespace) })
}

// resume ends the pause of a namespace. If declarers wait, resume wakes them and begins another pause.
func (p *pace) resume(call func(object.ID), namespace string) {
	p.mu.Lock()
	ids := p.waiting[namespace]
	if len(ids) == 0 {
		delete(p.waiting, namespace)
		p.mu.Unlock()
		return
	}
	p.waiting[namespace] = map[object.ID]struct{}{}
	p.mu.Unlock()
	p.run(call, namespace, ids)
}
