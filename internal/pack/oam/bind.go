package oam

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/dataflow"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// workloadRefPath and workloadRefsPath are fields of definitions that say where to write a
// reference to a workload. The name of the definition follows.
const (
	workloadRefPath  = "spec.workloadRefPath of TraitDefinition/"
	workloadRefsPath = "spec.workloadRefsPath of ScopeDefinition/"
)

// bindTrait writes the reference to the workload into a trait, at spec.workloadRefPath of its
// TraitDefinition. Without spec.workloadRefPath, bindTrait leaves the trait unchanged (seed 5,
// proposal 2).
func bindTrait(
	trait *unstructured.Unstructured, definition *oamv1alpha2.TraitDefinition, to *unstructured.Unstructured,
	budget *relation.Budget,
) error {
	if definition == nil || definition.Spec.WorkloadRefPath == "" {
		return nil
	}
	field := workloadRefPath + definition.Name
	content, err := dataflow.Set(trait.Object, field, definition.Spec.WorkloadRefPath, map[string]any{
		"apiVersion": to.GetAPIVersion(), "kind": to.GetKind(), "name": to.GetName(),
	}, budget)
	if err != nil {
		return err
	}
	trait.Object = content
	return nil
}

// checkPath returns a *relation.FieldError if a path in a definition leads to no field in the
// schema of a kind: the API server would drop the reference to the workload silently. If the schema
// is unknown, checkPath returns nil.
func (e *environment) checkPath(
	ctx context.Context, field, text string, gvk schema.GroupVersionKind, want string,
) error {
	path, err := dataflow.ParseWritable(field, text)
	if err != nil {
		return err
	}
	_, err = e.watcher.Schemas().Check(gvk, path, want)
	if wrong, ok := errors.AsType[*relation.FieldError](err); ok {
		return relation.Wrong(field, "%s leads to no field of a %s: %s", text, gvk.Kind, wrong)
	}
	if err != nil {
		logr.FromContextOrDiscard(ctx).Info("Path not checked", "field", field, "reason", err.Error())
	}
	return nil
}

// checkPaths calls checkPath for spec.workloadRefPath of each trait. An administrator may correct
// the schema of a kind without an event, so the pass repeats after a wrong path.
func (r *applicationReconciler) checkPaths(ctx context.Context, p *applicationPass) reconcile.Outcome {
	for _, part := range p.app.parts {
		for _, t := range part.traits {
			if t.definition == nil || t.definition.Spec.WorkloadRefPath == "" {
				continue
			}
			err := r.checkPath(ctx, workloadRefPath+t.definition.Name, t.definition.Spec.WorkloadRefPath,
				t.object.GroupVersionKind(), relation.TypeObject)
			if err != nil {
				return reconcile.WaitFor(apply.ObstacleRetry, reasonError, "%s", err)
			}
		}
	}
	return reconcile.Outcome{}
}
