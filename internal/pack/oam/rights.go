package oam

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// unrecorded is the message of an object without an author on record.
const unrecorded = "no author is on record, because the object was written while the operator's webhooks were off: " +
	"write its spec again with the webhooks on, or start the operator with --oam-trust-rbac"

// checkRights checks that the authors of the application and of its components could write each
// workload and each trait themselves, and read and write the stores of data.
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

// permittedFor checks the rights of the authors on record of an object.
func (e *environment) permittedFor(
	ctx context.Context, obj client.Object, verb string, kinds ...schema.GroupVersionKind,
) reconcile.Outcome {
	return e.permit.Check(ctx, authorise.AuthorsOf(obj), obj.GetNamespace(), verb, kinds...)
}
