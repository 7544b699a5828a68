package relation

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Index stores each [Edge] by its declarer, and finds edges by target ([Index.Targeting]) and
// by source ([Index.From]). Index is safe for concurrent use. The zero value is ready to use.
type Index struct {
	mu       sync.RWMutex
	declared map[object.ID][]entry
	targets  ends
	sources  ends
}

// entry is an edge of an [Index].
type entry struct {
	Edge

	source *selection // of Edge.Source, or nil for a named source
}

// ends finds edges by one of their ends: by the ID of a named object, or by the place and the key of a
// selector ([Ref.key]).
type ends struct {
	named map[object.ID]edgeSet
	sets  map[place]map[string]*selection
	kinds map[schema.GroupKind]int // number of edges per kind
	news  uint64                   // number of changes of the keys of named and sets
}

// Set replaces the edges that a declarer declares and returns the edges that the declarer
// declared before, so that [Waker.Declare] can wake the targets of both. No edges means that
// the declarer declares nothing any more.
func (x *Index) Set(declarer object.ID, edges []Edge) (before []Edge) {
	x.mu.Lock()
	defer x.mu.Unlock()
	former := x.declared[declarer]
	for i := range former {
		x.targets.remove(former[i].Target, &former[i])
		x.sources.remove(former[i].Source, &former[i])
	}
	delete(x.declared, declarer)
	if len(edges) == 0 {
		return edgesOf(former)
	}
	if x.declared == nil {
		x.declared = map[object.ID][]entry{}
	}
	entries := make([]entry, len(edges))
	for i, e := range edges {
		entries[i].Edge = e
		x.targets.add(e.Target, &entries[i])
		entries[i].source = x.sources.add(e.Source, &entries[i])
	}
	x.declared[declarer] = entries
	return edgesOf(former)
}

// edgesOf returns a copy of the edges of some entries.
func edgesOf(entries []entry) []Edge {
	if entries == nil {
		return nil
	}
	edges := make([]Edge, len(entries))
	for i := range entries {
		edges[i] = entries[i].Edge
	}
	return edges
}

// Declared returns the edges that an object declares, in the order of [Extractor].
func (x *Index) Declared(declarer object.ID) []Edge {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return edgesOf(x.declared[declarer])
}

// Targeting returns the edges whose target is the object, by name or by selector, in the order
// of compareEdges.
func (x *Index) Targeting(obj Object) []Edge { return sorted(x.collect(&x.targets, obj)) }

// From returns the edges whose source is the object, by name or by selector, in the order of
// compareEdges.
func (x *Index) From(obj Object) []Edge { return sorted(x.collect(&x.sources, obj)) }

// AnyTargeting reports whether accept returns true for an edge whose target is the object.
// AnyTargeting stops at the first such edge, in no particular order: [Force.On] calls it for
// objects that are the target of thousands of edges.
func (x *Index) AnyTargeting(obj Object, accept func(Edge) bool) bool {
	return x.anyTargeting(obj, func(e *entry) bool { return accept(e.Edge) })
}

func (x *Index) anyTargeting(obj Object, accept func(*entry) bool) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for e := range x.targets.of(obj) {
		if accept(e) {
			return true
		}
	}
	return false
}

// Declarers returns the objects that declare edges, in the order of [object.Compare].
func (x *Index) Declarers() []object.ID {
	x.mu.RLock()
	defer x.mu.RUnlock()
	ids := make([]object.ID, 0, len(x.declared))
	for id := range x.declared {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, object.Compare)
	return ids
}

// Len returns the number of objects that declare edges ([Index.Set]).
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.declared)
}

// Size returns the number of edges, and of the objects and selectors at their ends.
func (x *Index) Size() (nodes, edges int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, all := range x.declared {
		edges += len(all)
	}
	nodes = len(x.targets.named) + len(x.sources.named)
	for id := range x.sources.named {
		if _, both := x.targets.named[id]; both {
			nodes--
		}
	}
	for _, by := range []*ends{&x.targets, &x.sources} {
		for _, selections := range by.sets {
			for _, s := range selections {
				nodes += s.edges.len()
			}
		}
	}
	return nodes, edges
}

// Targets returns the targets ([Edge.Target]) of a kind, in a fixed order.
func (x *Index) Targets(gk schema.GroupKind) []Ref {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var refs []Ref
	for id := range x.targets.named {
		if id.GroupKind() == gk {
			refs = append(refs, Named(id))
		}
	}
	for where, selections := range x.targets.sets {
		if where.GroupKind != gk {
			continue
		}
		for _, s := range selections {
			refs = append(refs, s.ref)
		}
	}
	slices.SortFunc(refs, func(a, b Ref) int {
		return cmp.Or(object.Compare(a.ID, b.ID), cmp.Compare(a.String(), b.String()))
	})
	return refs
}

// TargetKinds returns the kinds of all targets, ordered by group and kind.
func (x *Index) TargetKinds() []schema.GroupKind {
	x.mu.RLock()
	defer x.mu.RUnlock()
	sorted := slices.Collect(maps.Keys(x.targets.kinds))
	slices.SortFunc(sorted, func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return sorted
}

// observe tells the selections that an object changed.
func (x *Index) observe(c Change) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, where := range placesOf(c.Object().ID) {
		for _, s := range x.sources.sets[where] {
			s.observe(c)
		}
		for _, s := range x.targets.sets[where] {
			s.observe(c)
		}
	}
}

func (x *Index) collect(by *ends, obj Object) []*entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Collect(by.of(obj))
}

// leaving returns the edges whose source is an object, without the edges of a selection for which skip returns true, in
// the order of compareEdges.
func (x *Index) leaving(obj Object, skip func(*selection) bool) []Edge {
	x.mu.RLock()
	defer x.mu.RUnlock()
	found := slices.Collect(x.sources.named[obj.ID].all())
	for _, where := range placesOf(obj.ID) {
		for _, s := range x.sources.sets[where] {
			if s.ref.Matches(obj) && !skip(s) {
				found = slices.AppendSeq(found, s.edges.all())
			}
		}
	}
	return sorted(found)
}

// concerned returns the edges that a change of an object concerns, in the order of compareEdges. With whole, the
// change concerns every edge that has the object at the end before or after the change. Otherwise the change concerns
// the edges whose selector selected the object either before or after the change, but not both.
func (x *Index) concerned(by *ends, c Change, whole bool) []*entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found []*entry
	id := c.Object().ID
	if whole {
		found = slices.Collect(by.named[id].all())
	}
	for _, where := range placesOf(id) {
		for _, s := range by.sets[where] {
			before, after := c.Old != nil && s.ref.Matches(*c.Old), c.New != nil && s.ref.Matches(*c.New)
			if before != after || (whole && before) {
				found = slices.AppendSeq(found, s.edges.all())
			}
		}
	}
	slices.SortFunc(found, func(a, b *entry) int { return compareEdges(a.Edge, b.Edge) })
	return found
}

// sorted returns a copy of the edges of some entries, in the order of compareEdges.
func sorted(entries []*entry) []Edge {
	edges := make([]Edge, 0, len(entries))
	for _, e := range entries {
		edges = append(edges, e.Edge)
	}
	slices.SortFunc(edges, compareEdges)
	return edges
}

// of yields the edges that have an object at the end, in no particular order.
func (n *ends) of(obj Object) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for e := range n.named[obj.ID].all() {
			if !yield(e) {
				return
			}
		}
		for _, where := range placesOf(obj.ID) {
			for _, s := range n.sets[where] {
				if s.ref.Matches(obj) && !s.edges.each(yield) {
					return
				}
			}
		}
	}
}

// add adds an edge to an end, and returns the selection of the end if the end is a selector.
func (n *ends) add(ref Ref, e *entry) *selection {
	if ref.IsZero() {
		return nil
	}
	if n.named == nil {
		n.named = map[object.ID]edgeSet{}
		n.sets = map[place]map[string]*selection{}
		n.kinds = map[schema.GroupKind]int{}
	}
	n.kinds[ref.GroupKind()]++
	if ref.Selector == nil {
		set := n.named[ref.ID]
		if set.empty() {
			n.news++
		}
		set.add(e)
		n.named[ref.ID] = set
		return nil
	}
	where, key := place{ref.GroupKind(), ref.Namespace}, ref.key()
	if n.sets[where] == nil {
		n.sets[where] = map[string]*selection{}
	}
	s := n.sets[where][key]
	if s == nil {
		n.news++
		s = &selection{ref: ref}
		n.sets[where][key] = s
	}
	s.edges.add(e)
	return s
}

func (n *ends) remove(ref Ref, e *entry) {
	if ref.IsZero() {
		return
	}
	if n.kinds[ref.GroupKind()]--; n.kinds[ref.GroupKind()] == 0 {
		delete(n.kinds, ref.GroupKind())
	}
	if ref.Selector == nil {
		set := n.named[ref.ID]
		if set.remove(e); set.empty() {
			n.news++
			delete(n.named, ref.ID)
			return
		}
		n.named[ref.ID] = set
		return
	}
	where, key := place{ref.GroupKind(), ref.Namespace}, ref.key()
	s := n.sets[where][key]
	if s.edges.remove(e); !s.edges.empty() {
		return
	}
	n.news++
	if delete(n.sets[where], key); len(n.sets[where]) == 0 {
		delete(n.sets, where)
	}
}

func compareEdges(a, b Edge) int {
	return cmp.Or(
		object.Compare(a.Declarer, b.Declarer),
		cmp.Compare(a.Relation, b.Relation),
		object.Compare(a.Source.ID, b.Source.ID),
		object.Compare(a.Target.ID, b.Target.ID),
		cmp.Compare(a.Field, b.Field),
	)
}
