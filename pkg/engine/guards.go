package engine

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// makeGuards makes the guard controller of each kind that has none yet. Each kind gets every
// finalizer of the [Engine]: only the objects show which kind a relation without Relation.Target
// refers to.
func (e *Engine) makeGuards() {
	known := e.known.Load()
	if len(known.guards) == 0 {
		return
	}
	names := slices.Sorted(slices.Values(known.guards))
	for _, m := range known.members {
		if m.finalizer != nil {
			continue
		}
		m.finalizer = &guard.Finalizers{
			Kind: m.GVK, Client: e.options.Live, FieldOwners: known.fieldOwners,
			Names: slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == m.Finalizer }),
			Get: func(id object.ID) metav1.Object {
				if obj := m.get(id); obj != nil {
					return obj
				}
				return nil // A nil interface, not an interface with a nil pointer.
			},
			InUse: e.inUse,
		}
	}
}

// guardOf returns the Relation.Finalizer by which an edge guards its target, or "" for a
// relation without a guard.
func (e *Engine) guardOf(edge relation.Edge) string {
	return e.known.Load().relations[edge.Relation].Finalizer
}

// Hold adds each [relation.Relation.Finalizer] to all ready targets. If another client writes a
// target at the same moment, Hold returns a [reconcile.Outcome] that waits for the cache.
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

// Sources returns the objects that refer to a target by relations with a finalizer
// ([relation.Relation.Finalizer]), in a fixed order. An empty finalizer means all relations.
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

// inUse reports whether an object refers to the target by relations with a finalizer. If the
// index has no such edge, inUse needs a proof: a watch event has shown the last source go
// (isUnused), or a live list finds no source. After a restart there is no watch event, and the
// live list decides.
func (e *Engine) inUse(ctx context.Context, target object.ID, finalizer string) (bool, error) {
	used := e.index.AnyTargeting(relation.Object{ID: target}, func(edge relation.Edge) bool {
		return e.guardOf(edge) == finalizer
	})
	if used || e.isUnused(guarded{target, finalizer}) {
		return used, nil
	}
	for _, gk := range e.kinds() {
		m := e.member(gk)
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

// markUnused records a guard without a source in Engine.unused. A target that [Engine.Get] does not
// find is not recorded: no event would drop the record, and a later object of the name may have a
// source.
func (e *Engine) markUnused(g guarded) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.Get(g.target) != nil { // The event of the deletion comes later, and forget waits for mu.
		e.unused[g] = true
	}
}

// refersLive lists a kind from the API server and reports whether an object refers to the
// target.
func (e *Engine) refersLive(ctx context.Context, m *member, target object.ID, finalizer string) (bool, error) {
	list, err := e.listOf(m)
	if err != nil {
		return false, err
	}
	err = e.options.Live.List(ctx, list, client.InNamespace(target.Namespace))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return false, nil // The API server does not serve the kind, so there are no objects.
	}
	if err != nil {
		return false, fmt.Errorf("list who refers to %s: %w", target.Short(), err)
	}
	refers := false
	err = meta.EachListItem(list, func(item runtime.Object) error {
		obj, err := m.adapted(item.(client.Object))
		if err != nil {
			return fmt.Errorf("read %s: %w", object.Of(item.(client.Object), m.gk()).Short(), err)
		}
		for _, edge := range e.edges(m, object.Of(obj, m.gk()), obj) {
			refers = refers || (edge.Target.ID == target && e.guardOf(edge) == finalizer)
		}
		return nil
	})
	return refers, err
}

// adapted returns an object of an API answer as [Kind.Example] has it.
func (m *member) adapted(obj client.Object) (client.Object, error) {
	adapter, ok := m.Example.(watch.Adapter)
	if u, is := obj.(*unstructured.Unstructured); ok && is {
		return adapter.Adapt(u)
	}
	return obj, nil
}

// listOf returns an empty list of a kind, of the Go type for Kind.Example.
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
