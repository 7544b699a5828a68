package relation

import (
	"iter"
	"slices"
)

// fewEdges is the largest number of edges that an edgeSet keeps in a slice. Nearly every object
// is the end of one or two edges, and a map for each object would be most of the memory of an
// [Index]. An object at the end of thousands of edges needs a map.
const fewEdges = 16

// edgeSet is a set of edges. The zero value is empty.
type edgeSet struct {
	few  []*entry
	many map[*entry]struct{}
}

func (s *edgeSet) add(e *entry) {
	switch {
	case s.many != nil:
		s.many[e] = struct{}{}
	case len(s.few) < fewEdges:
		s.few = append(s.few, e)
	default:
		s.many = make(map[*entry]struct{}, 2*fewEdges)
		for _, held := range s.few {
			s.many[held] = struct{}{}
		}
		s.many[e] = struct{}{}
		s.few = nil
	}
}

func (s *edgeSet) remove(e *entry) {
	delete(s.many, e)
	if i := slices.Index(s.few, e); i >= 0 {
		s.few = slices.Delete(s.few, i, i+1)
	}
}

func (s edgeSet) empty() bool { return s.len() == 0 }

func (s edgeSet) len() int { return len(s.few) + len(s.many) }

// all yields every edge of few and many in no particular order.
func (s edgeSet) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) { s.each(yield) }
}

// each calls yield with every edge, until yield returns false. each reports whether yield never did.
func (s edgeSet) each(yield func(*entry) bool) bool {
	for _, e := range s.few {
		if !yield(e) {
			return false
		}
	}
	for e := range s.many {
		if !yield(e) {
			return false
		}
	}
	return true
}
