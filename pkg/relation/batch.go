package relation

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A batch waits for firstBatch before its first call of follow. Before each further call, the batch
// waits for as long as the last call took, but at least firstBatch and at most lastBatch: people do
// not notice such a delay.
const (
	firstBatch = 10 * time.Millisecond
	lastBatch  = 500 * time.Millisecond
)

// batch collects ends (Refs), and passes all ends to one call of follow a little later. To follow a
// selector, [Watcher.List] reads all objects of a kind, and thousands of changes to the members of
// one selector concern the same few ends. The zero value is ready.
type batch struct {
	mu   sync.Mutex
	ends map[string]Ref
	due  bool
}

// add schedules a call of follow with some Refs. add does not block.
func (b *batch) add(follow func([]Ref), ends ...Ref) {
	if len(ends) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ends == nil {
		b.ends = map[string]Ref{}
	}
	for _, end := range ends {
		b.ends[end.key()] = end
	}
	if !b.due {
		b.due = true
		time.AfterFunc(firstBatch, func() { b.run(follow) })
	}
}

// run calls follow with the collected Refs. If add was called meanwhile, run schedules the next
// call after a pause.
func (b *batch) run(follow func([]Ref)) {
	b.mu.Lock()
	ends := slices.Collect(maps.Values(b.ends))
	clear(b.ends)
	b.mu.Unlock()
	begun := time.Now()
	follow(ends)
	pause := min(max(firstBatch, time.Since(begun)), lastBatch)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.due = len(b.ends) > 0; b.due {
		time.AfterFunc(pause, func() { b.run(follow) })
	}
}
