package oam

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

const (
	// rightsRetry is the pause until the rights of authors are asked again: no event tells that a
	// role was bound.
	rightsRetry = time.Minute
	// refusedRetry is the pause after an admission webhook or a policy refused a deletion.
	refusedRetry = time.Minute
)

// checkRights checks that the authors of the application and of its components could write each
// workload and each trait themselves, and read and write the stores of data.
func (r *applicationReconciler) checkRights(ctx context.Context, p *applicationPass) reconcile.Outcome {
	outcome := r.mayStore(ctx, p.Namespace, endsOf(p.ApplicationConfiguration, p.app))
	for _, part := range p.app.parts {
		kinds := []schema.GroupVersionKind{part.workload.GroupVersionKind()}
		for _, t := range part.traits {
			kinds = append(kinds, t.object.GroupVersionKind())
		}
		outcome = outcome.And(r.permitted(ctx, part.authors, p.Namespace, "create", kinds...))
	}
	return outcome
}

// permittedFor is permitted for the authors on record of an object.
func (e *environment) permittedFor(
	ctx context.Context, obj client.Object, verb string, kinds ...schema.GroupVersionKind,
) reconcile.Outcome {
	return e.permitted(ctx, authorise.AuthorsOf(obj), obj.GetNamespace(), verb, kinds...)
}

// permitted waits until all of some authors have a right to objects of some kinds. permitted refuses a
// cluster-scoped kind: a Role of the namespace would seem to grant the right to its objects.
func (e *environment) permitted(
	ctx context.Context, authors []authorise.Author, namespace, verb string, kinds ...schema.GroupVersionKind,
) reconcile.Outcome {
	actions := make([]authorise.Action, 0, len(kinds))
	for _, gvk := range kinds {
		mapping, err := e.watcher.Mapping(gvk)
		if err != nil {
			return reconcile.Wait(reasonError, "%s", err)
		}
		if !mapping.Namespaced {
			return reconcile.Refuse(reasonError, "%s is cluster-scoped: applications and traits act on objects in "+
				"their namespace alone", gvk.Kind)
		}
		actions = append(actions, authorise.Action{
			Verb: verb, Group: gvk.Group, Resource: mapping.Resource.Resource, Namespace: namespace,
		})
	}
	if e.trust {
		return reconcile.Outcome{}
	}
	if len(authors) == 0 || !e.recorded {
		return reconcile.Refuse(reasonError, "no author is on record, because the object was written while the "+
			"operator's webhooks were off: write its spec again with the webhooks on, or start the operator with "+
			"--oam-trust-rbac")
	}
	who, what, err := e.reviewer.Denied(ctx, authors, actions...)
	switch {
	case err != nil:
		return reconcile.Fail(reasonError, err)
	case who != "":
		resource := schema.GroupResource{Group: what.Group, Resource: what.Resource}
		return reconcile.WaitFor(rightsRetry, reasonError, "the author %s may not %s %s in namespace %s",
			who, verb, resource, namespace)
	default:
		return reconcile.Outcome{}
	}
}
