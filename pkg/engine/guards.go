package engine

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// makeGuards makes the guard controller of each kind. Every kind may carry every guard: which
// kind a relation without Target refers to shows only in its objects.
func (e *Engine) makeGuards() {
	if len(e.guards) == 0 {
		return
	}
	names := slices.Sorted(slices.Values(e.guards))
	for _, m := range e.members {
		m.finalizer = &guard.Finalizers{
			Kind: m.GVK, Client: e.options.Live, FieldOwners: e.fieldOwners,
			Names: slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == m.Finalizer }),
			Get: func(id object.ID) metav1.Object {
				if obj := m.get(id); obj != nil {
					return obj
				}
				return nil // Not an interface that holds nil.
			},
			InUse: e.inUse,
		}
	}
}

// guardOf returns the finalizer by which an edge guards its target. It is empty if the edge has
// no guard.
func (e *Engine) guardOf(edge relation.Edge) string { return e.relations[edge.Relation].Finalizer }

// Hold puts the guards on all targets that are ready. A target that another request changed at
// the same moment is an Outcome that waits.
func (e *Engine) Hold(ctx context.Context, refs Refs) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, t := range refs.targets {
		if t.relation.Finalizer == "" || t.object == nil {
			continue
		}
		if _, ready := t.member.ready(t.object); !ready {
			continue
		}
		held, err := t.member.finalizer.Hold(ctx, t.object, t.relation.Finalizer)
		outcome = outcome.And(reconcile.Fail(e.options.Reasons.Failed, err))
		if err == nil && !held && t.object.GetDeletionTimestamp() == nil {
			outcome = outcome.And(reconcile.WaitForCache(e.options.Reasons.Waiting,
				"Waiting for %s to be ready", t.edge.Target.Short()))
		}
	}
	return outcome
}

// Sources returns the objects that refer to an object by relations with a finalizer, in a fixed
// order. An empty finalizer means by any relation.
func (e *Engine) Sources(target object.ID, finalizer string) []object.ID {
	var ids []object.ID
	for _, edge := range e.index.Targeting(relation.Object{ID: target}) {
		counts := finalizer == "" || e.guardOf(edge) == finalizer
		if counts && !slices.Contains(ids, edge.Declarer) {
			ids = append(ids, edge.Declarer)
		}
	}
	return ids
}

// inUse reports whether an object refers to the target by relations with a finalizer. That no
// object does is believed if a watch has shown how the last one left. After a restart no watch
// has, and a live list decides.
func (e *Engine) inUse(ctx context.Context, target object.ID, finalizer string) (bool, error) {
	used := e.index.AnyTargeting(relation.Object{ID: target}, func(edge relation.Edge) bool {
		return e.guardOf(edge) == finalizer
	})
	if used || e.isUnused(guarded{target, finalizer}) {
		return used, nil
	}
	for _, gk := range e.kinds() {
		m := e.members[gk]
		if !slices.ContainsFunc(m.Relations, func(r relation.Relation) bool { return r.Finalizer == finalizer }) {
			continue
		}
		if refers, err := e.refersLive(ctx, m, target, finalizer); refers || err != nil {
			return refers, err
		}
	}
	e.markUnused(guarded{target, finalizer})
	return false, nil
}

func (e *Engine) isUnused(g guarded) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.unused[g]
}

func (e *Engine) markUnused(g guarded) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unused[g] = true
}

// refersLive asks the API server whether an object of a kind refers to the target.
func (e *Engine) refersLive(ctx context.Context, m *member, target object.ID, finalizer string) (bool, error) {
	list, err := e.listOf(m)
	if err != nil {
		return false, err
	}
	err = e.options.Live.List(ctx, list, client.InNamespace(target.Namespace))
	if meta.IsNoMatchError(err) {
		return false, nil // The kind is not served yet, so that it has no objects.
	}
	if err != nil {
		return false, fmt.Errorf("list who refers to %s: %w", target.Short(), err)
	}
	refers := false
	err = meta.EachListItem(list, func(item runtime.Object) error {
		obj := item.(client.Object)
		for _, edge := range e.edges(m, object.Of(obj, m.gk()), obj) {
			refers = refers || (edge.Target.ID == target && e.guardOf(edge) == finalizer)
		}
		return nil
	})
	return refers, err
}

// listOf returns an empty list of a kind, of the Go type that the kind's Example has.
func (e *Engine) listOf(m *member) (client.ObjectList, error) {
	gvk := m.GVK.GroupVersion().WithKind(m.GVK.Kind + "List")
	if _, ok := m.Example.(runtime.Unstructured); ok {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		return list, nil
	}
	obj, err := e.options.Live.Scheme().New(gvk)
	if err != nil {
		return nil, fmt.Errorf("make a list of %s: %w", m.GVK.Kind, err)
	}
	return obj.(client.ObjectList), nil
}
