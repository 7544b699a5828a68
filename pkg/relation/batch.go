package relation

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A batch waits for firstBatch before its ends are followed, and after that for as long as
// the last batch took, but for at most lastBatch, which people do not notice.
const (
	firstBatch = 10 * time.Millisecond
	lastBatch  = 500 * time.Millisecond
)

// batch collects ends and hands all of them to one call of follow a little later. Following
// a selector means to look at all objects of a kind, and thousands of changes to the
// members of a set concern the same few ends. The zero value is ready.
type batch struct {
	mu   sync.Mutex
	ends map[string]Ref
	due  bool
}

// add has follow called soon with the ends. It does not block.
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

// run follows the ends of a batch, and those that were added meanwhile after a pause.
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
