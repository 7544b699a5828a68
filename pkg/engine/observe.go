package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Observe handles one watch.Change of an object: Observe records the edges of the object
// (Engine.declare), and then requeues the objects that the change concerns. Informers call Observe,
// and the owner of a [Kind.Store] does.
func (e *Engine) Observe(gk schema.GroupKind, c watch.Change[client.Object]) {
	if c.Old != nil && c.New != nil && c.Old.GetUID() != c.New.GetUID() {
		// A watch that was interrupted reports another object of the same name, with another
		// metadata.uid, as a change.
		e.Observe(gk, watch.Change[client.Object]{Old: c.Old, Missed: true})
		c.Old = nil
	}
	m, current := e.member(gk), c.New
	if current == nil {
		current = c.Old
	}
	id := object.Of(current, gk)
	if m.Observe != nil {
		m.Observe(id, c)
	}
	e.declare(m, id, c.New)
	if m.concerns(id, c) {
		m.queue.Add(id)
	}
	if e.concernsSources(m, id, c.Old, c.New) {
		for _, edge := range e.index.Targeting(relation.Object{ID: id}) {
			e.Requeue(edge.Declarer)
		}
	}
	switch {
	case c.New == nil:
		e.forget(m, id)
	case m.isGuarded(c.New):
		m.released.Add(id)
	}
}

// concerns reports whether a change of an object requeues the object itself.
func (m *member) concerns(id object.ID, c watch.Change[client.Object]) bool {
	if c.Old == nil || c.New == nil {
		return true
	}
	return m.Writes.Concerns(id, c.Old, c.New) && (m.Concerns == nil || m.Concerns(c.Old, c.New))
}

// concernsSources reports whether a change of an object requeues the objects that refer to the
// object.
func (e *Engine) concernsSources(m *member, id object.ID, old, now client.Object) bool {
	if m.Example == nil && now != nil {
		return e.contentChanged(id, old, now)
	}
	if old == nil || now == nil {
		return true
	}
	idBefore, readyBefore := m.ready(old)
	idNow, readyNow := m.ready(now)
	return idBefore != idNow || readyBefore != readyNow ||
		(old.GetDeletionTimestamp() == nil) != (now.GetDeletionTimestamp() == nil) || guard.LostFinalizer(old, now)
}

// contentChanged reports whether the content of an object may have changed, where the [Engine]
// has only PartialObjectMetadata. A change that only adds guards of this Engine is no change of
// the content.
func (e *Engine) contentChanged(id object.ID, old, now client.Object) bool {
	if old != nil && !guard.LostFinalizer(old, now) && e.gainedGuards(old, now) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.contents[id]
	e.contents[id] = now.GetResourceVersion()
	return before != now.GetResourceVersion() || (old != nil && guard.LostFinalizer(old, now))
}

// gainedGuards reports whether the change added finalizers, and all of them are guards of this
// [Engine].
func (e *Engine) gainedGuards(old, now client.Object) bool {
	added := slices.DeleteFunc(slices.Clone(now.GetFinalizers()), func(f string) bool {
		return slices.Contains(old.GetFinalizers(), f)
	})
	guards := e.known.Load().guards
	foreign := slices.ContainsFunc(added, func(f string) bool { return !slices.Contains(guards, f) })
	return len(added) > 0 && !foreign
}

// content returns the resourceVersion of an object's content, where the [Engine] has only
// PartialObjectMetadata.
func (e *Engine) content(id object.ID) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.contents[id]
}

// declare records the edges of an object (Engine.record), and requeues the former targets in their
// guard controllers, which may remove the finalizer now.
func (e *Engine) declare(m *member, id object.ID, obj client.Object) {
	if len(m.Relations) == 0 && m.Declares == nil {
		return
	}
	edges, before := e.record(m, id, obj)
	for _, former := range before {
		name := e.guardOf(former)
		still := slices.ContainsFunc(edges, func(now relation.Edge) bool {
			return now.Target.ID == former.Target.ID && e.guardOf(now) == name
		})
		target := e.member(former.Target.GroupKind())
		if still || name == "" || target == nil {
			continue
		}
		e.markUnused(guarded{former.Target.ID, name})
		target.released.Add(former.Target.ID)
	}
}

// record replaces the edges of an object by [relation.Index.Set], and returns the new and the
// former edges. The caller holds Engine.mu.
func (e *Engine) record(m *member, id object.ID, obj client.Object) (edges, before []relation.Edge) {
	e.mu.Lock()
	defer e.mu.Unlock()
	edges = e.edges(m, id, obj)
	return edges, e.index.Set(id, edges)
}

// Declare records the edges of an object anew, after the answer of Kind.Declares has changed.
// Declare reads the object from the cache, which may change meanwhile: Declare repeats until
// the cache is unchanged.
func (e *Engine) Declare(id object.ID) {
	m := e.member(id.GroupKind())
	for unchanged := false; !unchanged; {
		obj := m.get(id)
		e.declare(m, id, obj)
		unchanged = m.get(id) == obj
	}
}

// Edges returns the edges from an object to the targets of its relations, in the order of
// Kind.Relations.
func (e *Engine) Edges(gk schema.GroupKind, obj client.Object) []relation.Edge {
	var all []relation.Edge
	for _, r := range e.member(gk).Relations {
		edges := r.Extract(obj, e)
		for i := range edges {
			edges[i].Relation = r.Name
		}
		all = append(all, edges...)
	}
	return all
}

// edges returns all edges of an object, including the edges of Kind.Declares.
func (e *Engine) edges(m *member, id object.ID, obj client.Object) []relation.Edge {
	var edges []relation.Edge
	if obj != nil {
		edges = e.Edges(m.gk(), obj)
	}
	if m.Declares != nil {
		edges = m.Declares(id, obj, edges)
	}
	return edges
}

// forget drops the records of a deleted object.
func (e *Engine) forget(m *member, id object.ID) {
	m.Writes.Forget(id)
	if m.finalizer != nil {
		m.finalizer.Forget(id)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.contents, id)
	for _, name := range e.known.Load().guards {
		delete(e.unused, guarded{id, name})
	}
}
