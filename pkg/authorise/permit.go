package authorise

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// permitRetry is the pause until the rights of authors are asked again: no event tells that a role was
// bound.
const permitRetry = time.Minute

// Permit checks the authors of objects before a reconciler acts for them. The zero value refuses
// everything.
type Permit struct {
	Reviewer *Reviewer
	Kinds    relation.Kinds
	// Recorded says that an admission webhook records authors ([Record]). While it is false, an annotation
	// proves nothing.
	Recorded bool
	// Refused says why the reconciler must not act on a resource for authors, or "". Refused may be nil.
	Refused func(schema.GroupResource) string
	// Trust has the reconciler act without asking for the rights of authors.
	Trust bool
	// Reason is the reason of the outcomes, and Unrecorded is the message of an object without an author
	// on record, with what a user does about it.
	Reason, Unrecorded string
}

// Check waits until all of some authors have the right to a verb on objects of some kinds in a namespace.
// Check refuses a cluster-scoped kind: a Role of the namespace would seem to grant the right to its objects.
func (p Permit) Check(
	ctx context.Context, authors []Author, namespace, verb string, kinds ...schema.GroupVersionKind,
) reconcile.Outcome {
	actions := make([]Action, 0, len(kinds))
	for _, gvk := range kinds {
		mapping, err := p.Kinds.Mapping(gvk)
		if err != nil {
			return reconcile.Wait(p.Reason, "%s", err)
		}
		if !mapping.Namespaced {
			return reconcile.Refuse(p.Reason, "%s is cluster-scoped: only objects in namespace %s may be named",
				gvk.Kind, namespace)
		}
		if p.Refused != nil {
			resource := schema.GroupResource{Group: gvk.Group, Resource: mapping.Resource.Resource}
			if why := p.Refused(resource); why != "" {
				return reconcile.Refuse(p.Reason, "%s can't be named: %s", resource, why)
			}
		}
		actions = append(actions, Action{
			Verb: verb, Group: gvk.Group, Resource: mapping.Resource.Resource, Namespace: namespace,
		})
	}
	if p.Trust || len(actions) == 0 {
		return reconcile.Outcome{}
	}
	if len(authors) == 0 || !p.Recorded {
		return reconcile.Refuse(p.Reason, "%s", p.Unrecorded)
	}
	who, what, err := p.Reviewer.Denied(ctx, authors, actions...)
	switch {
	case err != nil:
		return reconcile.Fail(p.Reason, err)
	case who != "":
		resource := schema.GroupResource{Group: what.Group, Resource: what.Resource}
		return reconcile.WaitFor(permitRetry, p.Reason, "the author %s may not %s %s in namespace %s: grant the right, or "+
			"take the object over in the name of a user who has it, with annotation %s=USER",
			who, verb, resource, namespace, TakeAnnotation)
	default:
		return reconcile.Outcome{}
	}
}
