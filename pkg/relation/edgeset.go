package relation

import (
	"iter"
	"slices"
)

// fewEdges is the largest number of edges that an edgeSet keeps in a slice. Nearly every object
// is the end of one or two edges, and a map for each object would be most of the memory of an
// [Index]. An object at the end of thousands of edges needs a map.
const fewEdges = 16

// edgeSet is a set of [Edge] pointers. The zero value is empty.
type edgeSet struct {
	few  []*Edge
	many map[*Edge]struct{}
}

func (s *edgeSet) add(e *Edge) {
	switch {
	case s.many != nil:
		s.many[e] = struct{}{}
	case len(s.few) < fewEdges:
		s.few = append(s.few, e)
	default:
		s.many = make(map[*Edge]struct{}, 2*fewEdges)
		for _, held := range s.few {
			s.many[held] = struct{}{}
		}
		s.many[e] = struct{}{}
		s.few = nil
	}
}

func (s *edgeSet) remove(e *Edge) {
	delete(s.many, e)
	if i := slices.Index(s.few, e); i >= 0 {
		s.few = slices.Delete(s.few, i, i+1)
	}
}

func (s edgeSet) empty() bool { return s.len() == 0 }

func (s edgeSet) len() int { return len(s.few) + len(s.many) }

// all yields every [Edge] of few and many in no particular order.
func (s edgeSet) all() iter.Seq[*Edge] {
	return func(yield func(*Edge) bool) {
		for _, e := range s.few {
			if !yield(e) {
				return
			}
		}
		for e := range s.many {
			if !yield(e) {
				return
			}
		}
	}
}
