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
	if ring, err := f.ring(ctx, e, f.exitsOf); ring == nil || err != nil {
		return nil, err
	}
	// An object may have left a selector since the exits were remembered: a ring is searched for again without them.
	return f.ring(ctx, e, func(end Ref) []object.ID {
		ids, _ := f.findExits(end)
		return ids
	})
}

// ring is Ring with a function that returns the exits of a selector.
func (f Force) ring(ctx context.Context, e Edge, exits func(Ref) []object.ID) ([]object.ID, error) {
	s := search{Force: f, goal: e.Source, exits: exits}
	late := false
	path, whole := graph.Find(s.members(e.Target), maxReached, func(id object.ID) []object.ID {
		late = late || ctx.Err() != nil
		if late {
			return nil
		}
		return s.next(id, nil)
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
	s := search{Force: f, exits: f.exitsOf}
	from := make([]object.ID, 0, len(ends))
	for _, end := range ends {
		from = append(from, s.members(end)...)
	}
	graph.Find(from, maxReached, func(id object.ID) []object.ID {
		return s.next(id, visit)
	}, func(object.ID) bool { return false })
}

// search follows edges from sources to targets. search follows each selector once: 2,000 members of 300 selectors
// lead to the targets of 300 edges, and not of 600,000.
type search struct {
	Force

	// goal is the end of a ring, or zero if every object behind the beginning is to be found.
	goal Ref
	// exits returns the exits of a selector.
	exits func(Ref) []object.ID
	// sources are the selections whose edges were followed, and targets the selectors whose members were returned.
	sources map[*selection]struct{}
	targets map[string]struct{}
}

// next returns the targets of the edges whose source is an object, unless an earlier call returned the targets. visit,
// if not nil, is called with the declarer of each such edge.
func (s *search) next(id object.ID, visit func(declarer object.ID)) []object.ID {
	obj, _ := s.Exists.Get(id)
	var next []object.ID
	for _, e := range s.Declared.leaving(obj, s.followed) {
		if e.Content != nil {
			continue
		}
		if visit != nil {
			visit(e.Declarer)
		}
		next = append(next, s.members(e.Target)...)
	}
	return next
}

// followed reports whether the edges of a selection were followed, and remembers that they are.
func (s *search) followed(selected *selection) bool {
	if _, known := s.sources[selected]; known {
		return true
	}
	if s.sources == nil {
		s.sources = map[*selection]struct{}{}
	}
	s.sources[selected] = struct{}{}
	return false
}

// members returns the objects that a [Ref] stands for, or nothing for a selector that was returned before. Of the
// objects of a selector, members returns the exits, and one object of the goal.
func (s *search) members(end Ref) []object.ID {
	if end.Selector == nil {
		return []object.ID{end.ID}
	}
	key := end.key()
	if _, known := s.targets[key]; known {
		return nil
	}
	if s.targets == nil {
		s.targets = map[string]struct{}{}
	}
	s.targets[key] = struct{}{}
	ids := s.exits(end)
	if id, found := s.goalAmong(end); found {
		return append([]object.ID{id}, ids...)
	}
	return ids
}

// goalAmong returns an object of a selector that the goal stands for too. If the goal is a selector of sources, the
// exits have such an object, and goalAmong returns none.
func (s *search) goalAmong(end Ref) (id object.ID, found bool) {
	switch {
	case s.goal.IsZero():
		return object.ID{}, false
	case s.goal.Selector == nil:
		return s.goal.ID, s.matches(end, s.goal.ID)
	case s.Declared.isSelectorOfSources(s.goal):
		return object.ID{}, false
	}
	members, _ := s.Exists.Members(end)
	for obj := range members {
		if s.goal.Matches(obj) && (!found || object.Compare(obj.ID, id) < 0) {
			id, found = obj.ID, true
		}
	}
	return id, found
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
