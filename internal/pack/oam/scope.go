package oam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/dataflow"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// members are the workloads that join a scope, and the workloads that leave the scope.
type members struct {
	join, leave []oamv1alpha2.TypedReference
	// authors are the authors of the workloads in members.join.
	authors []authorise.Author
}

// joinScopes adds the workloads of the application to its scopes, and removes former workloads. An
// author may let a workload join a scope only if the author may patch the scope.
func (r *applicationReconciler) joinScopes(ctx context.Context, p *applicationPass) reconcile.Outcome {
	all := map[oamv1alpha2.TypedReference]*members{}
	of := func(scope oamv1alpha2.TypedReference) *members {
		scope.UID = ""
		if all[scope] == nil {
			all[scope] = &members{}
		}
		return all[scope]
	}
	for _, part := range p.app.parts {
		for _, s := range part.scopes {
			m := of(s)
			m.join, m.authors = append(m.join, referenceTo(part.workload)), append(m.authors, part.authors...)
		}
	}
	// Former workloads leave the scopes in the last status, unless members.join has the workload.
	for _, w := range p.former {
		if !r.isOwn(p, w.Reference) {
			continue
		}
		for _, s := range w.Scopes {
			if m := of(s.Reference); !slices.Contains(m.join, w.Reference) {
				m.leave = append(m.leave, w.Reference)
			}
		}
	}
	// writeStatus precedes updateScope, so that the status names a scope before the scope names the
	// workload. A deleted ApplicationConfiguration leaves the scopes in its status, even if the
	// operator ends, or a user deletes the ApplicationConfiguration, after the first write.
	if len(all) > 0 {
		if err := r.writeStatus(ctx, p); err != nil {
			return reconcile.Fail(reasonError, err)
		}
	}
	var outcome reconcile.Outcome
	for _, scope := range slices.SortedFunc(maps.Keys(all), compareReferences) {
		m := all[scope]
		if len(m.join) > 0 {
			gvk := schema.FromAPIVersionAndKind(scope.APIVersion, scope.Kind)
			may := r.permit.Check(ctx, m.authors, p.Namespace, "patch", gvk)
			if outcome = outcome.And(may); !may.IsDone() {
				m.join = nil
			}
		}
		outcome = outcome.And(r.updateScope(ctx, p.id, scope, m.join, m.leave))
	}
	return outcome
}

func compareReferences(a, b oamv1alpha2.TypedReference) int {
	return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// leaveScopes removes all workloads of a deleted ApplicationConfiguration from its scopes.
func (r *applicationReconciler) leaveScopes(ctx context.Context, p *applicationPass) reconcile.Outcome {
	kinds := make([]schema.GroupKind, 0, len(p.Status.Workloads))
	for _, w := range p.Status.Workloads {
		gk := idOf(w.Reference, p.Namespace).GroupKind()
		if _, err := r.watcher.Mapping(gk.WithVersion("")); err == nil { // The objects of a removed kind are gone.
			kinds = append(kinds, gk)
		}
	}
	if outcome := r.engine.Use(p.id, kinds...); outcome.IsPassing() {
		return outcome // A kind that can't be watched does not hold the application.
	}
	var outcome reconcile.Outcome
	for _, w := range p.Status.Workloads {
		if !r.isOwn(p, w.Reference) {
			continue
		}
		for _, s := range w.Scopes {
			outcome = outcome.And(r.updateScope(ctx, p.id, s.Reference, nil, []oamv1alpha2.TypedReference{w.Reference}))
		}
	}
	return outcome
}

// isOwn reports whether a workload in status.workloads belongs to the application, and so leaves
// scopes with the application. Other clients can write the status: a workload of another
// application must not leave its scopes.
//
// A workload that does not exist, or whose kind does not exist or can't be watched, counts as own:
// no other application is known to have the workload, and a scope must not keep the reference to a
// deleted workload. After a deletion with --cascade=orphan the workload has no controller, and the
// label app.oam.dev/name decides.
func (r *applicationReconciler) isOwn(p *applicationPass, ref oamv1alpha2.TypedReference) bool {
	found, presence := r.watcher.Get(idOf(ref, p.Namespace))
	if presence != relation.Present {
		return true
	}
	if _, hasOwner := engine.ControllerOf(found); hasOwner {
		return metav1.IsControlledBy(found.Content, p)
	}
	return found.Labels[oamv1alpha2.LabelAppName] == p.Name
}

// updateScope adds references to the list of a scope at spec.workloadRefsPath of its
// ScopeDefinition, and removes others. Without spec.workloadRefsPath, updateScope does nothing
// (seed 5). A missing scope is an obstacle only if a workload joins the scope.
func (r *applicationReconciler) updateScope(
	ctx context.Context, id object.ID, ref oamv1alpha2.TypedReference, add, drop []oamv1alpha2.TypedReference,
) reconcile.Outcome {
	scope, must := idOf(ref, id.Namespace), len(add) > 0
	mapping, err := r.watcher.Mapping(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	switch {
	case err != nil && must:
		return reconcile.Wait(reasonError, "scope %s: %s", scope.Short(), err)
	case err != nil:
		return reconcile.Outcome{} // The objects of a removed kind are gone.
	case !mapping.Namespaced:
		return reconcile.Outcome{} // r.permit lets no workload join, and the status may be forged.
	}
	name := mapping.Resource.Resource + "." + scope.Group
	definition, _ := r.engine.Get(in(scopeDefinitionKind, "", name)).(*oamv1alpha2.ScopeDefinition)
	if definition == nil || definition.Spec.WorkloadRefsPath == "" {
		return reconcile.Outcome{}
	}
	err = r.editScope(ctx, scope, mapping.Resource.GroupVersion(), definition, add, drop)
	var invalid *relation.FieldError
	isInvalid := errors.As(err, &invalid)
	switch {
	case err == nil:
		return reconcile.Outcome{}
	case !must && (isInvalid || apierrors.IsNotFound(err)):
		return reconcile.Outcome{} // Nothing can be removed, and nothing holds a deleted application.
	case isInvalid:
		return reconcile.Refuse(reasonError, "%s", err)
	case apierrors.IsNotFound(err):
		return reconcile.Wait(reasonError, "waiting for scope %s to be created", scope.Short())
	default: // After a Conflict the pass is repeated soon.
		return reconcile.Fail(reasonError, fmt.Errorf("update scope %s: %w", scope.Short(), err))
	}
}

// editScope changes the list of a scope. If the path leads to no list, editScope returns a
// *relation.FieldError.
func (r *applicationReconciler) editScope(
	ctx context.Context, scope object.ID, version schema.GroupVersion, definition *oamv1alpha2.ScopeDefinition,
	add, drop []oamv1alpha2.TypedReference,
) error {
	field, text := workloadRefsPath+definition.Name, definition.Spec.WorkloadRefsPath
	path, err := dataflow.ParseWritable(field, text)
	if err != nil {
		return err
	}
	if err := r.checkPath(ctx, field, text, version.WithKind(scope.Kind), relation.TypeList); err != nil {
		return err
	}
	// The cache may not show yet that the workload has joined: a deleted application would leave a reference behind.
	cached, isHealth := r.engine.Get(scope).(*oamv1alpha2.HealthScope)
	if isHealth && len(drop) == 0 && hasAll(cached.Spec.WorkloadReferences, add) {
		return nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(version.WithKind(scope.Kind))
	u.SetNamespace(scope.Namespace)
	u.SetName(scope.Name)
	return apply.ListEdit{Path: path, Add: items(add), Drop: items(drop)}.Write(ctx, r.live, u, fieldOwner)
}

// items returns references in the form of a scope's list.
func items(refs []oamv1alpha2.TypedReference) []map[string]any {
	all := make([]map[string]any, 0, len(refs))
	for _, ref := range refs {
		all = append(all, map[string]any{"apiVersion": ref.APIVersion, "kind": ref.Kind, "name": ref.Name})
	}
	return all
}

// hasAll reports whether a list has all references, with any uid.
func hasAll(list, refs []oamv1alpha2.TypedReference) bool {
	return !slices.ContainsFunc(refs, func(ref oamv1alpha2.TypedReference) bool {
		return !slices.ContainsFunc(list, func(r oamv1alpha2.TypedReference) bool {
			r.UID, ref.UID = "", ""
			return r == ref
		})
	})
}
