package relation

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/kinship-dev/kinship/pkg/object"
)

// exits are members of a selector from which edges lead on: each member that is a named source, and of each selector
// of sources the first member in the order of [object.Compare]. All edges that begin at members of the selector begin
// at exits: of 2,000 members of which all use the same objects, one is an exit.
type exits struct {
	mu    sync.Mutex
	known bool
	at    moment
	ids   []object.ID
}

// moment tells whether the exits of a selector may have changed. The exits are the same at equal moments.
type moment struct {
	members uint64 // selection.news
	sources uint64 // ends.news of the sources
}

// exitsOf returns the exits of a selector at the end of edges. exitsOf remembers the exits of a target of a declared
// edge until a member or a source changes: 300 Usages of the same selector share one search.
func (f Force) exitsOf(end Ref) []object.ID {
	s, now := f.Declared.targetAt(end)
	if s == nil {
		ids, _ := f.findExits(end)
		return ids
	}
	s.exits.mu.Lock()
	defer s.exits.mu.Unlock()
	if !s.exits.known || s.exits.at != now {
		s.exits.ids, s.exits.known = f.findExits(end)
		s.exits.at = now
	}
	return s.exits.ids
}

// findExits returns the exits of a selector, and known=false if the kind's objects are not known.
func (f Force) findExits(end Ref) (ids []object.ID, known bool) {
	members, known := f.Exists.Members(end)
	return f.Declared.exitsAmong(members), known
}

// targetAt returns the selection of a target, or nil if no edge has the target, and the current moment of its exits.
func (x *Index) targetAt(end Ref) (*selection, moment) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.targets.sets[place{end.GroupKind(), end.Namespace}][end.key()]
	if s == nil {
		return nil, moment{}
	}
	_, _, news := s.recall()
	return s, moment{members: news, sources: x.sources.news}
}

// isSelectorOfSources reports whether a selector is the source of a declared edge.
func (x *Index) isSelectorOfSources(ref Ref) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.sources.sets[place{ref.GroupKind(), ref.Namespace}][ref.key()] != nil
}

// exitsAmong returns the exits among some objects, in the order of [object.Compare].
func (x *Index) exitsAmong(members iter.Seq[Object]) []object.ID {
	x.mu.RLock()
	defer x.mu.RUnlock()
	found, first := map[object.ID]struct{}{}, map[*selection]object.ID{}
	for obj := range members {
		if _, isNamed := x.sources.named[obj.ID]; isNamed {
			found[obj.ID] = struct{}{}
		}
		for _, where := range placesOf(obj.ID) {
			for _, s := range x.sources.sets[where] {
				before, has := first[s]
				if (!has || object.Compare(obj.ID, before) < 0) && s.ref.Matches(obj) {
					first[s] = obj.ID
				}
			}
		}
	}
	for _, id := range first {
		found[id] = struct{}{}
	}
	return slices.SortedFunc(maps.Keys(found), object.Compare)
}
