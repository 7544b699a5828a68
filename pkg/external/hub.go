package external

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// hub hears of everything, knows who refers to whom, and wakes who is concerned.
type hub struct {
	group   string // as in [Options]
	index   relation.Index
	members map[schema.GroupKind]*member
	// relations of the kinds that take part, by name.
	relations map[string]relation.Relation
	// guards are the finalizers by which these hold their targets, each once.
	guards []string
	// owners are the field managers of these, where relations name them.
	owners map[string]string

	alterations alterations
	strays      strays
	occupancy   occupancy
	clock       clock.PassiveClock

	declaring sync.Mutex // what is referred to is found and recorded at once
	mu        sync.Mutex
	// left are the targets that somebody was seen to leave, by guard.
	left map[hold]bool
	// contents are the versions of Secrets that were not of our making.
	contents map[object.ID]string
}

// hold is a target and a finalizer on it.
type hold struct {
	target object.ID
	guard  string
}

// member is a kind that takes part.
type member struct {
	gvk       schema.GroupVersionKind
	relations []relation.Relation
	own       bool // one of the pack's kinds, not only referred to
	informed  client.Object
	store     toolscache.Store
	synced    toolscache.InformerSynced
	queue     reconcile.Queue
	guard     *guard.Finalizers
	releases  reconcile.Queue
	uses      func(Object) []Resource        // beside those that its references stand for; it may be nil
	cloud     func(place string) string      // [Kind.Cloud]
	ended     func(object.ID, client.Object) // told of an object as it was at its end, before forget
	forget    func(object.ID, types.UID)
	learn     func(client.Object)
}

func (m *member) gk() schema.GroupKind { return m.gvk.GroupKind() }

// cloudOf returns the cloud that the status of an object records.
func (m *member) cloudOf(obj Object) string {
	if m.cloud == nil {
		return ""
	}
	return m.cloud(obj.GetExternalStatus().Place)
}

// get returns an object as the cache shows it, or nil. It must not be changed.
func (m *member) get(id object.ID) client.Object {
	item, exists, err := m.store.GetByKey(id.Namespace + "/" + id.Name)
	if err != nil || !exists {
		return nil
	}
	return item.(client.Object)
}

func (m *member) ids() []object.ID {
	items := m.store.List()
	ids := make([]object.ID, 0, len(items))
	for _, item := range items {
		ids = append(ids, object.Of(item.(client.Object), m.gk()))
	}
	slices.SortFunc(ids, object.Compare)
	return ids
}

// ready returns whether an object can be referred to, and the id of its resource.
func (m *member) ready(obj client.Object) (id string, ok bool) {
	o, external := obj.(Object)
	if !external {
		return "", true
	}
	status := o.GetExternalStatus()
	if !meta.IsStatusConditionTrue(status.Conditions, condition.Available) {
		return idOf(o), false
	}
	return idOf(o), true
}

// target returns what an edge leads to.
func (h *hub) target(edge relation.Edge, rel relation.Relation) target {
	m := h.members[edge.Target.GroupKind()]
	t := target{edge: edge, guard: rel.Finalizer, once: rel.Once, member: m}
	if m != nil {
		t.object = m.get(edge.Target.ID)
	}
	if t.object == nil {
		return t
	}
	t.id, t.ready = m.ready(t.object)
	if rel.Later {
		t.ready = t.id != "" // It may itself wait for the source.
	}
	if !m.own {
		t.version = h.version(edge.Target.ID)
	}
	if rel.Reads {
		t.id = t.version // It stands for what is in it.
	}
	return t
}

// told takes in what an informer tells.
func (h *hub) told(m *member, c watch.Change[client.Object]) {
	if c.Went() && !c.Missed && m.ended != nil {
		m.ended(object.Of(c.Old, m.gk()), c.Old)
	}
	h.changed(m, c.Old, c.New)
}

// changed is told of one change of one object. Who refers to whom is recorded
// before anybody is woken.
func (h *hub) changed(m *member, old, obj client.Object) {
	if old != nil && obj != nil && old.GetUID() != obj.GetUID() {
		h.changed(m, old, nil) // A watch that was cut off tells only what is there now.
		old = nil
	}
	current := obj
	if current == nil {
		current = old
	}
	id := object.Of(current, m.gk())
	h.declare(m, id, obj)
	h.occupy(m, id, obj)
	if m.learn != nil && obj != nil {
		m.learn(obj)
	}
	if m.own && h.concernsItself(old, obj) {
		m.queue.Add(id)
	}
	if h.concernsSources(m, id, old, obj) {
		for _, e := range h.index.Targeting(relation.Object{ID: id}) {
			if source := h.members[e.Declarer.GroupKind()]; source != nil {
				source.queue.Add(e.Declarer)
			}
		}
	}
	switch {
	case obj == nil:
		h.missed(old)
		h.forget(m, id, old.GetUID())
	case m.guard != nil && slices.ContainsFunc(obj.GetFinalizers(), m.guards):
		m.releases.Add(id)
	}
}

// missed requeues the owners of an object that was deleted, such as the Subnet of a
// RouterInterface, so that they compose the object anew. An owner need not be the
// controller: other operators of the same API write plain owner references.
func (h *hub) missed(old client.Object) {
	for _, owner := range old.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		if err != nil {
			continue // It is no kind of ours.
		}
		id := object.ID{Group: gv.Group, Kind: owner.Kind, Namespace: old.GetNamespace(), Name: owner.Name}
		if m := h.members[id.GroupKind()]; m != nil && m.own && m.get(id) != nil {
			h.alterations.note(id, h.clock.Now())
			m.queue.Add(id)
		}
	}
}

// guardOf returns the finalizer by which an edge holds its target; empty if it does not.
func (h *hub) guardOf(e relation.Edge) string { return h.relations[e.Relation].Finalizer }

func (m *member) guards(finalizer string) bool { return slices.Contains(m.guard.Names, finalizer) }

// declare records what an object refers to, and wakes the guards of what it does
// not refer to any more.
func (h *hub) declare(m *member, id object.ID, obj client.Object) {
	if !m.own {
		return
	}
	edges, former := h.record(m, id, obj)
	for _, before := range former {
		name := h.guardOf(before)
		still := slices.ContainsFunc(edges, func(e relation.Edge) bool {
			return e.Target.ID == before.Target.ID && h.guardOf(e) == name
		})
		target := h.members[before.Target.GroupKind()]
		if still || name == "" || target == nil {
			continue
		}
		h.mu.Lock()
		h.left[hold{before.Target.ID, name}] = true
		h.mu.Unlock()
		target.releases.Add(before.Target.ID)
	}
}

// record records what an object refers to, and strays of its name, and returns that and
// what was recorded before.
func (h *hub) record(m *member, id object.ID, obj client.Object) (edges, before []relation.Edge) {
	h.declaring.Lock()
	defer h.declaring.Unlock()
	if obj != nil {
		edges = h.holds(m, obj)
	}
	for _, stray := range h.strays.of(id) {
		edges = append(edges, h.holds(m, stray)...)
	}
	return edges, h.index.Set(id, edges)
}

// redeclare records what the object refers to that has a name by now, when what had it
// before refers to nothing any more. The store is ahead of what an informer tells, so that
// what was told meanwhile is not undone.
func (h *hub) redeclare(m *member, id object.ID) {
	for done := false; !done; {
		obj := m.get(id)
		h.declare(m, id, obj)
		done = m.get(id) == obj
	}
}

// holding returns a relation for each finalizer by which the kind holds others.
func (m *member) holding() []relation.Relation {
	var one []relation.Relation
	for _, r := range m.relations {
		same := func(other relation.Relation) bool { return other.Finalizer == r.Finalizer }
		if r.Finalizer != "" && !slices.ContainsFunc(one, same) {
			one = append(one, r)
		}
	}
	return one
}

// edges returns what an object refers to, in the order of the relations.
func (m *member) edges(obj client.Object) []relation.Edge {
	var all []relation.Edge
	for _, r := range m.relations {
		edges := r.Extract(obj, nil)
		for i := range edges {
			edges[i].Relation = r.Name
		}
		all = append(all, edges...)
	}
	return all
}

// holds returns what an object holds: what it refers to, and what its resource uses
// still although the spec does not name it any more. The status does not tell by which
// relation that was, so it counts for each.
func (h *hub) holds(m *member, obj client.Object) []relation.Edge {
	edges := m.edges(obj)
	o, ok := obj.(Object)
	if !ok {
		return edges
	}
	declarer := object.Of(obj, m.gk())
	for _, d := range o.GetExternalStatus().ObservedDependencies {
		target, ok := h.observed(declarer, d)
		named := slices.ContainsFunc(edges, func(e relation.Edge) bool { return e.Target.ID == target })
		if !ok || named {
			continue
		}
		for _, r := range m.holding() {
			edges = append(edges, relation.Edge{
				Role: r.Role, Relation: r.Name, Declarer: declarer, Source: relation.Named(declarer),
				Target: relation.Named(target), Field: "status.observedDependencies",
			})
		}
	}
	return edges
}

// observed returns which object a status tells of, if it is one of the pack's.
func (h *hub) observed(of object.ID, d sharedv1alpha1.ObservedDependency) (object.ID, bool) {
	target := object.ID{Group: of.Group, Kind: d.Kind, Namespace: of.Namespace, Name: d.Name}
	m := h.members[target.GroupKind()]
	return target, m != nil && m.own
}

// concernsItself reports whether a change of an object is not one of its status,
// which nobody else writes.
func (h *hub) concernsItself(old, obj client.Object) bool {
	if old == nil || obj == nil {
		return true
	}
	return old.GetGeneration() != obj.GetGeneration() || old.GetUID() != obj.GetUID() ||
		!slices.Equal(old.GetFinalizers(), obj.GetFinalizers()) ||
		(old.GetDeletionTimestamp() == nil) != (obj.GetDeletionTimestamp() == nil) ||
		h.isReleased(old, obj)
}

// isReleased reports whether a person has taken the intent of another object off an object
// that was restored from a backup.
func (h *hub) isReleased(old, obj client.Object) bool {
	key := IntentAnnotation(h.group)
	return old.GetAnnotations()[key] != obj.GetAnnotations()[key] && isForeign(h.group, old)
}

// concernsSources reports whether a change makes a difference to those who refer
// to the object.
func (h *hub) concernsSources(m *member, id object.ID, old, obj client.Object) bool {
	if !m.own && obj != nil {
		return h.contentChanged(id, old, obj)
	}
	if old == nil || obj == nil || old.GetUID() != obj.GetUID() {
		return true
	}
	before, wasReady := m.ready(old)
	after, isReady := m.ready(obj)
	return before != after || wasReady != isReady ||
		(old.GetDeletionTimestamp() == nil) != (obj.GetDeletionTimestamp() == nil) ||
		lostOne(old, obj)
}

// lostOne reports whether a finalizer went, which may be a guard that was
// stripped.
func lostOne(old, obj client.Object) bool {
	return slices.ContainsFunc(old.GetFinalizers(), func(f string) bool {
		return !slices.Contains(obj.GetFinalizers(), f)
	})
}

// contentChanged reports whether an object of which we know the metadata alone may
// have other content. That it carries more of our guards, and nothing else, changes
// none.
func (h *hub) contentChanged(id object.ID, old, obj client.Object) bool {
	if old != nil && !lostOne(old, obj) && h.guarded(old, obj) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.contents[id]
	h.contents[id] = obj.GetResourceVersion()
	return before != obj.GetResourceVersion() || (old != nil && lostOne(old, obj))
}

// guarded reports whether finalizers came, and all of them are guards.
func (h *hub) guarded(old, obj client.Object) bool {
	came := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool {
		return slices.Contains(old.GetFinalizers(), f)
	})
	theirs := slices.ContainsFunc(came, func(f string) bool { return !slices.Contains(h.guards, f) })
	return len(came) > 0 && !theirs
}

// version returns that of an object's content.
func (h *hub) version(id object.ID) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.contents[id]
}

func (h *hub) forget(m *member, id object.ID, uid types.UID) {
	if m.guard != nil {
		m.guard.Forget(id)
	}
	if m.forget != nil {
		m.forget(id, uid)
	}
	h.alterations.take(id)
	h.occupancy.end(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.contents, id)
	for _, name := range h.guards {
		delete(h.left, hold{id, name})
	}
}

// sources returns who refers to an object by relations with a finalizer.
func (h *hub) sources(target object.ID, finalizer string) []object.ID {
	var ids []object.ID
	for _, e := range h.index.Targeting(relation.Object{ID: target}) {
		if h.guardOf(e) == finalizer && !slices.Contains(ids, e.Declarer) {
			ids = append(ids, e.Declarer)
		}
	}
	return ids
}

// inUse reports whether somebody refers to an object by relations with a
// finalizer. That nobody does is believed of the watches if they have shown the
// last one leave; else, after a restart, it is confirmed by a live list.
func (h *hub) inUse(ctx context.Context, c client.Client, target object.ID, finalizer string) (bool, error) {
	used := h.index.AnyTargeting(relation.Object{ID: target}, func(e relation.Edge) bool {
		return h.guardOf(e) == finalizer
	})
	h.mu.Lock()
	seen := h.left[hold{target, finalizer}]
	h.mu.Unlock()
	if used || seen {
		return used, nil
	}
	for _, gk := range sortedKinds(h.members) {
		m := h.members[gk]
		if !slices.ContainsFunc(m.relations, func(r relation.Relation) bool { return r.Finalizer == finalizer }) {
			continue
		}
		if refers, err := h.liveRefers(ctx, c, m, target, finalizer); refers || err != nil {
			return refers, err
		}
	}
	h.mu.Lock()
	h.left[hold{target, finalizer}] = true
	h.mu.Unlock()
	return false, nil
}

// liveRefers asks the API server whether an object of a kind refers to a target.
func (h *hub) liveRefers(
	ctx context.Context, c client.Client, m *member, target object.ID, finalizer string,
) (bool, error) {
	obj, err := c.Scheme().New(m.gvk.GroupVersion().WithKind(m.gvk.Kind + "List"))
	if err != nil {
		return false, fmt.Errorf("make list of %s: %w", m.gvk.Kind, err)
	}
	list := obj.(client.ObjectList)
	if err := c.List(ctx, list, client.InNamespace(target.Namespace)); err != nil {
		return false, fmt.Errorf("list who refers to %s: %w", target.Short(), err)
	}
	refers := false
	err = meta.EachListItem(list, func(item runtime.Object) error {
		for _, e := range h.holds(m, item.(client.Object)) {
			refers = refers || (e.Target.ID == target && h.guardOf(e) == finalizer)
		}
		return nil
	})
	return refers, err
}

// partial returns an object that stands for the metadata of a kind.
func partial(gvk schema.GroupVersionKind) client.Object {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(gvk)
	return obj
}

// newOf returns an empty object of a pointer type.
func newOf[K client.Object]() K {
	return reflect.New(reflect.TypeFor[K]().Elem()).Interface().(K)
}
