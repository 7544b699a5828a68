package usage

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/graph"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// ledger knows which protections are in force: what Usages declare, put together
// with what exists. It runs in every replica. Whoever can be affected by what it
// hears is woken.
type ledger struct {
	index   relation.Index
	watcher *relation.Watcher
	lock    *guard.Lock

	// trusting is set where admission guards the authority mark, so that it can be
	// relied on.
	trusting bool
	// grants returns the ReferenceGrants of a namespace.
	grants func(namespace string) []kinshipv1alpha1.ReferenceGrant
	// wakeUsage and wakeTarget ask for a Usage, or a lock, to be reconciled.
	wakeUsage, wakeTarget func(object.ID)
	// kindsChanged is told when other kinds may be held than before.
	kindsChanged func()

	mu         sync.Mutex
	released   map[object.ID]types.UID // deleted Usages that hold nothing any more
	unresolved map[schema.GroupKind]map[object.ID]struct{}
}

// declare takes in a Usage as it is now.
func (l *ledger) declare(u usage) {
	id := identify(u)
	if l.hasReleased(u) {
		// Its kinds stay in use: it may be waiting for one to be read, to take a lock off.
		l.wakeUsage(id)
		return
	}
	var edges []relation.Edge
	if l.permitted(u) {
		edges = extract(u, l.watcher)
	}
	l.watch(id, u, edges)
	l.set(id, edges)
	l.wakeUsage(id)
}

// forget drops a Usage that is gone.
func (l *ledger) forget(id object.ID) {
	l.set(id, nil)
	l.mu.Lock()
	delete(l.released, id)
	for _, waiting := range l.unresolved {
		delete(waiting, id)
	}
	l.mu.Unlock()
	l.watcher.Use(id)
}

// release ends what a deleted Usage holds, before the Usage itself is gone.
func (l *ledger) release(u usage) {
	id := identify(u)
	l.mu.Lock()
	if l.released == nil {
		l.released = map[object.ID]types.UID{}
	}
	l.released[id] = u.GetUID()
	l.mu.Unlock()
	l.set(id, nil)
}

// hasReleased reports whether release was called for a Usage.
func (l *ledger) hasReleased(u usage) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released[identify(u)] == u.GetUID()
}

// permitted reports whether a Usage may protect what it names: anything its
// author could reach when admission asked, else only what is granted now.
//
// Where admission asks nobody, nothing is known of the author: then a Usage in a
// namespace may protect what is in that namespace, or granted, and no more.
func (l *ledger) permitted(u usage) bool {
	if !reachesOut(u) {
		return l.trusting || u.GetNamespace() == "" || l.inNamespaces(&u.UsageSpec().Of)
	}
	return (l.trusting && u.GetAnnotations()[authorityAnnotation] == authorityAuthor) || l.granted(u)
}

// inNamespaces reports whether the objects that one side of a Usage names live in
// namespaces. Of a kind that is not served nothing can be protected anyway.
func (l *ledger) inNamespaces(r *sharedv1alpha1.Resource) bool {
	mapping, err := l.watcher.Mapping(schema.FromAPIVersionAndKind(r.APIVersion, r.Kind))
	return err != nil || mapping.Namespaced
}

// granted reports whether a ReferenceGrant covers what a Usage protects. What
// lives outside of namespaces no namespace can grant.
func (l *ledger) granted(u usage) bool {
	to, of := target(u), &u.UsageSpec().Of
	mapping, err := l.watcher.Mapping(schema.FromAPIVersionAndKind(of.APIVersion, of.Kind))
	return err == nil && mapping.Namespaced && to.Namespace != "" &&
		authorise.Granted(l.grants(to.Namespace), identify(u), to)
}

// watch has the kinds watched that a Usage is about.
func (l *ledger) watch(id object.ID, u usage, edges []relation.Edge) {
	spec := u.UsageSpec()
	sides := []schema.GroupKind{schema.FromAPIVersionAndKind(spec.Of.APIVersion, spec.Of.Kind).GroupKind()}
	if spec.By != nil {
		sides = append(sides, schema.FromAPIVersionAndKind(spec.By.APIVersion, spec.By.Kind).GroupKind())
	}
	inUse := slices.Clone(sides)
	for _, e := range edges {
		if gk := e.Target.GroupKind(); !slices.Contains(inUse, gk) {
			inUse = append(inUse, gk)
		}
	}
	l.watcher.Use(id, inUse...)

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unresolved == nil {
		l.unresolved = map[schema.GroupKind]map[object.ID]struct{}{}
	}
	for _, gk := range sides {
		if len(edges) > 0 {
			delete(l.unresolved[gk], id)
			continue
		}
		if l.unresolved[gk] == nil {
			l.unresolved[gk] = map[object.ID]struct{}{}
		}
		l.unresolved[gk][id] = struct{}{}
	}
}

// set replaces a Usage's edges and wakes whoever that concerns.
func (l *ledger) set(id object.ID, edges []relation.Edge) {
	before := l.index.Set(id, edges)
	if slices.EqualFunc(before, edges, sameEdge) {
		return
	}
	if len(before) == 0 || len(edges) == 0 {
		l.kindsChanged()
	}
	for _, e := range slices.Concat(before, edges) {
		l.wakeEnd(e.Target)
		if e.Content == nil {
			l.wakeRing(e)
		}
	}
}

func sameEdge(a, b relation.Edge) bool {
	return a.Relation == b.Relation && a.SourceUID == b.SourceUID && a.Source.Equal(b.Source) && a.Target.Equal(b.Target)
}

// wakeEnd has the locks of all objects looked at that an end stands for.
func (l *ledger) wakeEnd(ref relation.Ref) {
	if ref.Selector == nil {
		l.wakeTarget(ref.ID)
		return
	}
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

// wakeRing wakes the Usages behind an edge's target: with the edge they may have
// become a ring, or ceased to be one.
func (l *ledger) wakeRing(e relation.Edge) {
	seen := map[object.ID]bool{e.Target.ID: true}
	for next := []relation.Ref{e.Target}; len(next) > 0 && len(seen) < maxRing; next = next[1:] {
		for _, behind := range l.from(next[0]) {
			l.wakeUsage(behind.Declarer)
			if !seen[behind.Target.ID] {
				seen[behind.Target.ID] = true
				next = append(next, behind.Target)
			}
		}
	}
}

// maxRing bounds how far rings are searched for.
const maxRing = 1000

// from returns the protecting edges whose source is what an end stands for.
func (l *ledger) from(ref relation.Ref) []relation.Edge {
	objects := []relation.Object{{ID: ref.ID}}
	if ref.Selector != nil {
		objects, _ = l.watcher.List(ref)
	} else if obj, presence := l.watcher.Get(ref.ID); presence == relation.Present {
		objects[0] = obj
	}
	var edges []relation.Edge
	for _, obj := range objects {
		for _, e := range l.index.From(obj) {
			if e.Content == nil {
				edges = append(edges, e)
			}
		}
	}
	return edges
}

// ring returns the objects that an edge closes a ring over, beginning and ending
// with its source, or nil. The edge itself need not be in the ledger. Of sets
// every member counts.
func (l *ledger) ring(e relation.Edge) []object.ID {
	if e.Source.IsZero() {
		return nil
	}
	next := func(id object.ID) []object.ID {
		edges := l.from(relation.Named(id))
		reached := make([]object.ID, 0, len(edges))
		for _, behind := range edges {
			reached = append(reached, l.members(behind.Target)...)
		}
		return reached
	}
	starts := l.members(e.Target)
	for _, start := range starts[:min(len(starts), maxRing)] {
		for _, id := range append([]object.ID{start}, graph.Reachable(start, next)...) {
			if l.standsFor(e.Source, id) {
				return append([]object.ID{id}, graph.Path(start, id, next)...)
			}
		}
	}
	return nil
}

// standsFor reports whether an end stands for an object.
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

// includes reports whether an end stands for an object now.
func (l *ledger) includes(ref relation.Ref, id object.ID) bool {
	if ref.Selector == nil {
		return ref.ID == id
	}
	obj, presence := l.watcher.Get(id)
	return presence == relation.Present && ref.Matches(obj)
}

// hold decides whether an object is kept.
func (l *ledger) hold(obj relation.Object) guard.Hold {
	undecided := false
	held := l.index.AnyTargeting(obj, func(e relation.Edge) bool {
		force := l.inForce(e)
		undecided = undecided || force == guard.Undecided
		return force == guard.Held
	})
	switch {
	case held:
		return guard.Held
	case undecided:
		return guard.Undecided
	default:
		return guard.Free
	}
}

// blocking returns the edges that keep an object. Where it can't be known
// whether one is in force, it is taken to be: protection fails closed.
func (l *ledger) blocking(obj relation.Object) []relation.Edge {
	edges := l.index.Targeting(obj)
	return slices.DeleteFunc(edges, func(e relation.Edge) bool { return l.inForce(e) == guard.Free })
}

// inForce decides whether a declared edge holds its target: if its source
// exists, and, for what holds an object, if that object exists.
func (l *ledger) inForce(e relation.Edge) guard.Hold {
	if e.Content != nil {
		if force := l.exists(*e.Content, ""); force != guard.Held {
			return force
		}
	}
	if e.Source.IsZero() {
		return guard.Held
	}
	return l.exists(e.Source, e.SourceUID)
}

func (l *ledger) exists(ref relation.Ref, uid types.UID) guard.Hold {
	if ref.Selector != nil {
		objects, known := l.watcher.List(ref)
		switch {
		case !known:
			return guard.Undecided
		case len(objects) == 0:
			return guard.Free
		}
		return guard.Held
	}
	switch obj, presence := l.watcher.Get(ref.ID); {
	case presence == relation.Unknown:
		return guard.Undecided
	case presence == relation.Absent, uid != "" && obj.UID != uid:
		return guard.Free
	}
	return guard.Held
}
