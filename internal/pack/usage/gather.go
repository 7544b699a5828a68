package usage

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// Ends are gathered for a moment before they are followed, and then for as long as that
// took, but no longer than people would notice.
const (
	firstGathered = 10 * time.Millisecond
	lastGathered  = 500 * time.Millisecond
)

// gathered are ends that have to be followed, which takes long where many objects are in
// sets. It is done for all of them together and a little later: who changes thousands of
// members of a set has as many changes concern the same ends, and nobody who hears of
// objects waits for that. The zero value is ready.
type gathered struct {
	mu   sync.Mutex
	ends map[string]relation.Ref
	due  bool
}

// add has ends be followed soon.
func (g *gathered) add(follow func([]relation.Ref), ends ...relation.Ref) {
	if len(ends) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ends == nil {
		g.ends = map[string]relation.Ref{}
	}
	for _, end := range ends {
		g.ends[endKey(end)] = end
	}
	if !g.due {
		g.due = true
		time.AfterFunc(firstGathered, func() { g.run(follow) })
	}
}

// run follows what was gathered, and what comes meanwhile after a pause.
func (g *gathered) run(follow func([]relation.Ref)) {
	g.mu.Lock()
	ends := slices.Collect(maps.Values(g.ends))
	clear(g.ends)
	g.mu.Unlock()
	begun := time.Now()
	follow(ends)
	pause := min(max(firstGathered, time.Since(begun)), lastGathered)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.due = len(g.ends) > 0; g.due {
		time.AfterFunc(pause, func() { g.run(follow) })
	}
}

// wakeEnd has the locks of all objects looked at that an end stands for.
func (l *ledger) wakeEnd(ref relation.Ref) {
	if ref.Selector == nil {
		l.wakeTarget(ref.ID)
		return
	}
	l.sets.add(l.wakeSets, ref)
}

// suspect has the Usages behind some ends woken: they may have become a ring, or ceased
// to be one.
func (l *ledger) suspect(ends ...relation.Ref) { l.rings.add(l.wakeRings, ends...) }

// wakeSets has the locks of all objects looked at that sets stand for, or did.
func (l *ledger) wakeSets(sets []relation.Ref) {
	for _, ref := range sets {
		everything := ref
		everything.Selector = &relation.Selector{Labels: map[string]string{lockLabel: lockValue}}
		locked, _ := l.watcher.List(everything) // May have matched before.
		matching, _ := l.watcher.List(ref)
		for _, obj := range slices.Concat(locked, matching) {
			if l.lock.Wrong(obj) {
				l.wakeTarget(obj.ID)
			}
		}
	}
}
