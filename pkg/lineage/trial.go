package lineage

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Outcome is the result of a trial deletion (dryRun=All).
type Outcome string

// The outcomes of a trial deletion (dryRun=All).
const (
	// Allowed means that the API server would delete the object now.
	Allowed Outcome = "Allowed"
	// Refused means that the API server would refuse the deletion now.
	Refused Outcome = "Refused"
	// Untried means that the API server gave no answer, for example because the caller may
	// not delete the object.
	Untried Outcome = "Untried"
)

// Trial is the API server's answer to a DELETE request with dryRun=All by the caller. A
// Trial is needed because the conditions of a Usage may be old.
type Trial struct {
	Outcome Outcome `json:"outcome"`
	// Text is the message of the refusal, or the reason of [Untried].
	Text string `json:"text,omitempty"`
}

// try returns the [Trial] of an object. One object is tried once.
func (c *Cluster) try(ctx context.Context, n *Node) Trial {
	if known, ok := c.trials.Load(n); ok {
		return known
	}
	trial := c.tryDeletion(ctx, n)
	c.trials.Store(n, trial)
	return trial
}

func (c *Cluster) tryDeletion(ctx context.Context, n *Node) Trial {
	k, ok := c.catalog.Kind(n.ID.GroupKind())
	if !ok {
		return Trial{Untried, "the cluster serves no such kind"}
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	options := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	if n.UID != "" {
		options.Preconditions = metav1.NewUIDPreconditions(string(n.UID))
	}
	err := c.dynamic.Resource(k.Resource).Namespace(n.ID.Namespace).Delete(ctx, n.ID.Name, options)
	if apierrors.IsForbidden(err) && !c.mayDelete(ctx, k, n) {
		return Trial{Untried, "you may not delete it"}
	}
	return trialOf(err)
}

// trialOf returns the [Trial] for the error of a DELETE request.
func trialOf(err error) Trial {
	if err == nil {
		return Trial{Outcome: Allowed}
	}
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	switch {
	case reconcile.IsAnother(err):
		return Trial{Untried, "another object has its name now"}
	// IsOvertaken: a DELETE of a Namespace that is being deleted is answered with Conflict.
	case reconcile.IsDenied(err), reconcile.IsOvertaken(err):
		return Trial{Refused, text}
	// failurePolicy: Fail, and the webhook does not answer.
	case apierrors.IsInternalError(err) && strings.Contains(text, "failed calling webhook"):
		return Trial{Refused, text}
	}
	return Trial{Untried, text}
}

var selfReviews = schema.GroupVersionResource{
	Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews",
}

// mayDelete asks by a SelfSubjectAccessReview whether the caller may delete an object.
// The API server answers 403 to callers without the right and to deletions that a
// ValidatingAdmissionPolicy refuses.
func (c *Cluster) mayDelete(ctx context.Context, k kind, n *Node) bool {
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"verb": "delete", "group": k.Resource.Group, "version": k.Resource.Version, "resource": k.Resource.Resource,
			"namespace": n.ID.Namespace, "name": n.ID.Name,
		}},
	}}
	answer, err := c.dynamic.Resource(selfReviews).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	return err == nil && allowed
}

// tryProtected tries, in parallel, the deletion of the nodes that a Usage protects by its
// conditions.
func (c *Cluster) tryProtected(ctx context.Context, nodes []*Node) {
	protected := slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool {
		return n.Deleted != nil || !c.index.AnyTargeting(n.object(), func(e relation.Edge) bool {
			return e.Role == relation.Usage && c.reportedForce(e).InForce
		})
	})
	inParallel(protected, func(n *Node) { c.try(ctx, n) })
}

// Force says whether an edge is enforced now, and the reason if not.
type Force struct {
	InForce bool   `json:"inForce"`
	Why     string `json:"why,omitempty"`
}

// force returns the [Force] of an edge. The conditions of a Usage tell what the operator
// saw last: a webhook configuration may have been deleted since. So force tries the
// deletion of the target.
func (c *Cluster) force(ctx context.Context, e relation.Edge, target *Node) Force {
	force := c.reportedForce(e)
	if e.Role != relation.Usage || !force.InForce {
		return force
	}
	c.readStatus(ctx, target)
	if target.Deleted != nil || target.Status == NotFound {
		return force
	}
	return enforced(c.try(ctx, target))
}

// enforced returns the [Force] of a Usage that reports to be in force.
func enforced(trial Trial) Force {
	switch trial.Outcome {
	case Allowed:
		return Force{Why: "the API server would delete it now: the webhook configuration or policy that refuses " +
			"deletions is missing or exempts you"}
	case Untried:
		return Force{InForce: true, Why: "as reported; the deletion was not tried: " + trial.Text}
	case Refused:
	}
	return Force{InForce: true}
}

// reportedForce returns the [Force] of an edge by the conditions Effective and Ready of
// the declaring Usage. An edge of another role is always in force.
func (c *Cluster) reportedForce(e relation.Edge) Force {
	if e.Role != relation.Usage {
		return Force{InForce: true}
	}
	conditions := c.node(e.Declarer).Conditions
	ready := meta.FindStatusCondition(conditions, "Ready")
	decisive := meta.FindStatusCondition(conditions, conditionEffective)
	if decisive == nil {
		decisive = ready
	}
	switch {
	case decisive == nil:
		return Force{Why: notReported + "; check that the operator runs"}
	case decisive.Status == metav1.ConditionTrue:
		return Force{InForce: true}
	case ready != nil && ready.Status != metav1.ConditionTrue:
		return Force{Why: describe(*ready)} // The message of Ready names the cause of Effective=False.
	}
	return Force{Why: describe(*decisive)}
}

const notReported = "no controller has reported its status yet"

// holdForce returns whether the finalizer of a rule is on the target now.
func holdForce(finalizer string, target *Node) Force {
	switch {
	case finalizer == "":
		return Force{Why: "a reference, which does not prevent deletion"}
	case !slices.Contains(target.Finalizers, finalizer):
		return Force{Why: "finalizer " + finalizer + " is missing"}
	default:
		return Force{InForce: true}
	}
}
