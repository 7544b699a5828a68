package oam

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// unrecorded is the message about an object without AuthorsAnnotation.
const unrecorded = "no author is on record, because the object was written while the operator's webhooks were off: " +
	"read it and take it over, with annotation " + authorise.TakeAnnotation + "=USER and the webhooks on, or start the " +
	"operator with --oam-trust-rbac"

// checkRights checks that the authors of the ApplicationConfiguration and of its Components may
// create each workload and each trait, and may get and create the stores of data.
func (r *applicationReconciler) checkRights(ctx context.Context, p *applicationPass) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, part := range p.app.parts {
		created := []schema.GroupVersionKind{part.workload.GroupVersionKind()}
		for _, t := range part.traits {
			created = append(created, t.object.GroupVersionKind())
		}
		var read []schema.GroupVersionKind
		for _, n := range part.nodes {
			read, created = append(read, n.Reads()...), append(created, n.Creates()...)
		}
		outcome = outcome.And(r.permit.Check(ctx, part.authors, p.Namespace, "get", read...)).
			And(r.permit.Check(ctx, part.authors, p.Namespace, "create", created...))
	}
	return outcome
}

// permittedFor checks the rights of the authors in an object's AuthorsAnnotation.
func (e *environment) permittedFor(
	ctx context.Context, obj client.Object, verb string, kinds ...schema.GroupVersionKind,
) reconcile.Outcome {
	return e.permit.Check(ctx, authorise.AuthorsOf(obj), obj.GetNamespace(), verb, kinds...)
}
