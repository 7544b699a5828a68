package usage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Bounds of a search for rings. Whoever may create Usages decides how much there is to
// be looked at, and admission has to answer within seconds.
const (
	// maxReached is how many objects are looked at.
	maxReached = 10_000
	// ringPatience is how long a search for one ring takes at most: every set means to
	// look through all objects of a kind.
	ringPatience = time.Second
	// ringAgain is when to look again for a ring that may keep itself from going.
	ringAgain = 10 * time.Second
)

// errTooMany says that it was not found out whether there is a ring.
var errTooMany = errors.New("too many objects use each other to tell whether they do so in a circle")

// search finds what objects lead to along protecting edges, nearest first.
type search struct {
	ledger *ledger
	steps  []step // in the order found
	seen   map[object.ID]struct{}
	sets   map[string]struct{} // whose members were found
	cut    bool                // there was more than may be looked at
}

// step is an object and the position of the step that led to it, or -1.
type step struct {
	id  object.ID
	via int
}

func newSearch(l *ledger) *search {
	return &search{ledger: l, seen: map[object.ID]struct{}{}, sets: map[string]struct{}{}}
}

// reach takes note of what an end stands for. Of a set the members are found once.
func (s *search) reach(ref relation.Ref, via int) {
	if ref.Selector == nil {
		s.add(ref.ID, via)
		return
	}
	key := endKey(ref)
	if _, known := s.sets[key]; known || s.cut {
		return
	}
	s.sets[key] = struct{}{}
	for _, id := range s.ledger.members(ref) {
		s.add(id, via)
	}
}

// endKey tells ends apart: all sets of a kind and namespace have the same ID.
func endKey(ref relation.Ref) string {
	if ref.Selector == nil {
		return fmt.Sprintf("%q", ref.ID)
	}
	return fmt.Sprintf("%q %q %q", ref.ID, ref.Selector.Labels, ref.Selector.Controller)
}

func (s *search) add(id object.ID, via int) {
	if _, known := s.seen[id]; known {
		return
	}
	if len(s.steps) == maxReached {
		s.cut = true
		return
	}
	s.seen[id] = struct{}{}
	s.steps = append(s.steps, step{id, via})
}

// found reports whether there is such a step, by now.
func (s *search) found(at int) bool { return at < len(s.steps) }

// follow takes note of what the object of a step leads to, and returns the edges.
func (s *search) follow(at int) []relation.Edge {
	edges := s.ledger.from(s.steps[at].id)
	for _, e := range edges {
		s.reach(e.Target, at)
	}
	return edges
}

// way returns the objects by which a step was found, from the first one to its own.
func (s *search) way(at int) []object.ID {
	var way []object.ID
	for ; at >= 0; at = s.steps[at].via {
		way = append(way, s.steps[at].id)
	}
	slices.Reverse(way)
	return way
}

// ring returns the objects that an edge closes a ring over, beginning and ending
// with its source, or nil. The edge itself need not be in the ledger. Of sets
// every member counts. The error says that there is too much to look at.
func (l *ledger) ring(ctx context.Context, e relation.Edge) ([]object.ID, error) {
	if e.Source.IsZero() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, ringPatience)
	defer cancel()
	s := newSearch(l)
	s.reach(e.Target, -1)
	for at := 0; s.found(at); at++ {
		if id := s.steps[at].id; l.standsFor(e.Source, id) {
			return append([]object.ID{id}, s.way(at)...), nil
		}
		if ctx.Err() == nil && !s.cut {
			s.follow(at)
		}
	}
	if s.cut || ctx.Err() != nil {
		return nil, errTooMany
	}
	return nil, nil
}

// wakeRings wakes the Usages behind some ends.
func (l *ledger) wakeRings(ends []relation.Ref) {
	s := newSearch(l)
	for _, end := range ends {
		s.reach(end, -1)
	}
	for at := 0; s.found(at); at++ {
		for _, behind := range s.follow(at) {
			l.wakeUsage(behind.Declarer)
		}
	}
}

// from returns the protecting edges whose source is an object.
func (l *ledger) from(id object.ID) []relation.Edge {
	obj, _ := l.watcher.Get(id)
	return slices.DeleteFunc(l.index.From(obj), func(e relation.Edge) bool { return e.Content != nil })
}

// standsFor reports whether an end stands for an object now.
func (l *ledger) standsFor(ref relation.Ref, id object.ID) bool {
	if ref.Selector == nil {
		return ref.ID == id
	}
	obj, presence := l.watcher.Get(id)
	return presence == relation.Present && ref.Matches(obj)
}

// members returns the objects that an end stands for now.
func (l *ledger) members(ref relation.Ref) []object.ID {
	if ref.Selector == nil {
		return []object.ID{ref.ID}
	}
	objects, _ := l.watcher.List(ref)
	ids := make([]object.ID, 0, len(objects))
	for _, obj := range objects {
		ids = append(ids, obj.ID)
	}
	return ids
}
