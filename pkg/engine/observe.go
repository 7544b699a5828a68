package engine

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Observe records one change of an object: first the edges that the object declares, then it
// requeues the objects concerned. Informers call Observe, and so does the owner of a
// [Kind.Store].
func (e *Engine) Observe(gk schema.GroupKind, c watch.Change[client.Object]) {
	if c.Old != nil && c.New != nil && c.Old.GetUID() != c.New.GetUID() {
		// A watch that was cut off reports another object of the same name as a change.
		e.Observe(gk, watch.Change[client.Object]{Old: c.Old, Missed: true})
		c.Old = nil
	}
	m, current := e.members[gk], c.New
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

// concernsSources reports whether a change of an object requeues the objects that refer to it.
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
		(old.GetDeletionTimestamp() == nil) != (now.GetDeletionTimestamp() == nil) || lostFinalizer(old, now)
}

// lostFinalizer reports whether a finalizer was taken off, which may be a guard that a person
// removed and that the source has to put on again.
func lostFinalizer(old, now client.Object) bool {
	return slices.ContainsFunc(old.GetFinalizers(), func(f string) bool {
		return !slices.Contains(now.GetFinalizers(), f)
	})
}

// contentChanged reports whether an object may have another content than before, of which the
// Engine has the metadata alone. A change that only adds guards of this Engine changes no content.
func (e *Engine) contentChanged(id object.ID, old, now client.Object) bool {
	if old != nil && !lostFinalizer(old, now) && e.gainedGuards(old, now) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.contents[id]
	e.contents[id] = now.GetResourceVersion()
	return before != now.GetResourceVersion() || (old != nil && lostFinalizer(old, now))
}

// gainedGuards reports whether finalizers were added, all of them guards of this Engine.
func (e *Engine) gainedGuards(old, now client.Object) bool {
	added := slices.DeleteFunc(slices.Clone(now.GetFinalizers()), func(f string) bool {
		return slices.Contains(old.GetFinalizers(), f)
	})
	foreign := slices.ContainsFunc(added, func(f string) bool { return !slices.Contains(e.guards, f) })
	return len(added) > 0 && !foreign
}

// content returns the version of an object's content, where the Engine has the metadata alone.
func (e *Engine) content(id object.ID) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.contents[id]
}

// declare records the edges of an object, and has the guard controllers look at the targets that
// the object does not refer to any more.
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
		target := e.members[former.Target.GroupKind()]
		if still || name == "" || target == nil {
			continue
		}
		e.markUnused(guarded{former.Target.ID, name})
		target.released.Add(former.Target.ID)
	}
}

// record replaces the recorded edges of an object, and returns the new and the former ones.
func (e *Engine) record(m *member, id object.ID, obj client.Object) (edges, before []relation.Edge) {
	e.mu.Lock()
	defer e.mu.Unlock()
	edges = e.edges(m, id, obj)
	return edges, e.index.Set(id, edges)
}

// Declare records the edges of an object as the cache shows the object, after Kind.Declares has
// changed its mind. The cache may change meanwhile, and is newer than what Observe was told: so
// Declare repeats until the cache is unchanged.
func (e *Engine) Declare(id object.ID) {
	m := e.members[id.GroupKind()]
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
	for _, r := range e.members[gk].Relations {
		edges := r.Extract(obj, e)
		for i := range edges {
			edges[i].Relation = r.Name
		}
		all = append(all, edges...)
	}
	return all
}

// edges returns all edges of an object, those of Kind.Declares included.
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

// forget drops what is kept of an object that is gone.
func (e *Engine) forget(m *member, id object.ID) {
	m.Writes.Forget(id)
	if m.finalizer != nil {
		m.finalizer.Forget(id)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.contents, id)
	for _, name := range e.guards {
		delete(e.unused, guarded{id, name})
	}
}
