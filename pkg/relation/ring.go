package relation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kinship-dev/kinship/pkg/graph"
	"github.com/kinship-dev/kinship/pkg/object"
)

// Bounds of [Force.Ring]. Users decide how many edges there are, and an admission request must
// be answered within timeoutSeconds of the webhook.
const (
	// maxReached limits the number of objects that a search visits.
	maxReached = 10_000
	// ringPatience limits the time of a search: for each selector, the search reads all objects
	// of a kind.
	ringPatience = time.Second
)

// ErrTooMany says that a search for a ring was given up (maxReached or ringPatience).
var ErrTooMany = errors.New("too many objects use each other to tell whether they do so in a circle")

// Ring returns the objects of the ring that an edge closes, from the source of the edge back to
// the source, or nil. For the edge A -> B and the declared edge B -> A the ring is A, B, A. The
// edge itself need not be in the [Index]. Each member of a selector counts. Ring returns
// [ErrTooMany] after 10,000 objects, after a second, and when ctx ends.
func (f Force) Ring(ctx context.Context, e Edge) ([]object.ID, error) {
	if e.Source.IsZero() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, ringPatience)
	defer cancel()
	way := f.targets(nil)
	late := false
	path, whole := graph.Find(f.Members(e.Target), maxReached, func(id object.ID) []object.ID {
		late = late || ctx.Err() != nil
		if late {
			return nil
		}
		return way(id)
	}, func(id object.ID) bool { return f.matches(e.Source, id) })
	switch {
	case path != nil:
		return append([]object.ID{path[len(path)-1]}, path...), nil
	case late || !whole:
		return nil, ErrTooMany
	}
	return nil, nil
}

// behind calls visit with the declarer of each edge that can be reached from some ends, up to
// maxReached objects away. If a ring passes through one of the ends, its edges are among these
// edges.
func (f Force) behind(ends []Ref, visit func(declarer object.ID)) {
	seen := map[string]struct{}{}
	var from []object.ID
	for _, end := range ends {
		if f.fresh(seen, end) {
			from = append(from, f.Members(end)...)
		}
	}
	way := f.targets(seen)
	graph.Find(from, maxReached, func(id object.ID) []object.ID {
		for _, e := range f.from(id) {
			visit(e.Declarer)
		}
		return way(id)
	}, func(object.ID) bool { return false })
}

// targets returns a function that returns the targets of an object. The members of a [Selector]
// are returned once; seen holds the selectors already followed.
func (f Force) targets(seen map[string]struct{}) func(object.ID) []object.ID {
	if seen == nil {
		seen = map[string]struct{}{}
	}
	return func(id object.ID) []object.ID {
		var next []object.ID
		for _, e := range f.from(id) {
			if f.fresh(seen, e.Target) {
				next = append(next, f.Members(e.Target)...)
			}
		}
		return next
	}
}

// fresh reports whether a [Ref] must be followed: a selector is followed only once.
func (f Force) fresh(seen map[string]struct{}, end Ref) bool {
	if end.Selector == nil {
		return true
	}
	key := end.key()
	_, known := seen[key]
	seen[key] = struct{}{}
	return !known
}

// RingEnds reports whether an edge is part of a ring of which every declarer is being deleted.
// A declarer of such a ring must not wait for the deletion of its source: every declarer of the
// ring would wait for another. Parameter going reports whether a declarer is being deleted.
// RingEnds returns the errors of [Force.Ring].
func (f Force) RingEnds(ctx context.Context, e Edge, going func(declarer object.ID) bool) (bool, error) {
	ring, err := f.Ring(ctx, e)
	if err != nil || ring == nil {
		return false, err
	}
	for _, member := range ring[:len(ring)-1] {
		for _, next := range f.from(member) {
			within := slices.ContainsFunc(ring, func(other object.ID) bool { return f.matches(next.Target, other) })
			if within && !going(next.Declarer) {
				return false, nil
			}
		}
	}
	return true, nil
}
