package relation

import (
	"cmp"
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
	declared map[object.ID][]Edge
	targets  ends
	sources  ends
}

// ends finds edges by one of their ends: by the ID of a named object, or by the GroupKind of a
// selector.
type ends struct {
	named map[object.ID]edgeSet
	sets  map[schema.GroupKind]edgeSet
	kinds map[schema.GroupKind]int // number of edges per kind
}

// Set replaces the edges that a declarer declares and returns the edges that the declarer
// declared before, so that [Waker.Declare] can wake the targets of both. No edges means that
// the declarer declares nothing any more.
func (x *Index) Set(declarer object.ID, edges []Edge) (before []Edge) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before = x.declared[declarer]
	for i := range before {
		x.targets.remove(before[i].Target, &before[i])
		x.sources.remove(before[i].Source, &before[i])
	}
	delete(x.declared, declarer)
	if len(edges) == 0 {
		return before
	}
	if x.declared == nil {
		x.declared = map[object.ID][]Edge{}
	}
	edges = slices.Clone(edges)
	for i := range edges {
		x.targets.add(edges[i].Target, &edges[i])
		x.sources.add(edges[i].Source, &edges[i])
	}
	x.declared[declarer] = edges
	return before
}

// Declared returns the edges that an object declares, in the order of [Extractor].
func (x *Index) Declared(declarer object.ID) []Edge {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Clone(x.declared[declarer])
}

// Targeting returns the edges whose target is the object, by name or by selector, in the order
// of compareEdges.
func (x *Index) Targeting(obj Object) []Edge {
	return x.collect(&x.targets, obj, func(e *Edge) Ref { return e.Target })
}

// From returns the edges whose source is the object, by name or by selector, in the order of
// compareEdges.
func (x *Index) From(obj Object) []Edge {
	return x.collect(&x.sources, obj, func(e *Edge) Ref { return e.Source })
}

// AnyTargeting reports whether accept returns true for an edge whose target is the object.
// AnyTargeting stops at the first such edge, in no particular order: [Force.On] calls it for
// objects that are the target of thousands of edges.
func (x *Index) AnyTargeting(obj Object, accept func(Edge) bool) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for e := range x.targets.named[obj.ID].all() {
		if accept(*e) {
			return true
		}
	}
	for e := range x.targets.sets[obj.ID.GroupKind()].all() {
		if e.Target.Matches(obj) && accept(*e) {
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
		for _, set := range by.sets {
			nodes += set.len()
		}
	}
	return nodes, edges
}

// Targets returns the targets ([Edge.Target]) of a kind, in a fixed order. The same selector
// may occur more than once.
func (x *Index) Targets(gk schema.GroupKind) []Ref {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var refs []Ref
	for id := range x.targets.named {
		if id.GroupKind() == gk {
			refs = append(refs, Named(id))
		}
	}
	for e := range x.targets.sets[gk].all() {
		refs = append(refs, e.Target)
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

func (x *Index) collect(by *ends, obj Object, end func(*Edge) Ref) []Edge {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found []Edge
	for e := range by.named[obj.ID].all() {
		found = append(found, *e)
	}
	for e := range by.sets[obj.ID.GroupKind()].all() {
		if end(e).Matches(obj) {
			found = append(found, *e)
		}
	}
	slices.SortFunc(found, compareEdges)
	return found
}

func (n *ends) add(ref Ref, e *Edge) {
	if ref.IsZero() {
		return
	}
	if n.named == nil {
		n.named = map[object.ID]edgeSet{}
		n.sets = map[schema.GroupKind]edgeSet{}
		n.kinds = map[schema.GroupKind]int{}
	}
	n.kinds[ref.GroupKind()]++
	if ref.Selector != nil {
		put(n.sets, ref.GroupKind(), e)
		return
	}
	put(n.named, ref.ID, e)
}

func (n *ends) remove(ref Ref, e *Edge) {
	if ref.IsZero() {
		return
	}
	if n.kinds[ref.GroupKind()]--; n.kinds[ref.GroupKind()] == 0 {
		delete(n.kinds, ref.GroupKind())
	}
	if ref.Selector != nil {
		drop(n.sets, ref.GroupKind(), e)
		return
	}
	drop(n.named, ref.ID, e)
}

func put[K comparable](m map[K]edgeSet, k K, e *Edge) {
	set := m[k]
	set.add(e)
	m[k] = set
}

func drop[K comparable](m map[K]edgeSet, k K, e *Edge) {
	set := m[k]
	if set.remove(e); set.empty() {
		delete(m, k)
		return
	}
	m[k] = set
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
