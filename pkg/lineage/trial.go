package lineage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// Lock is a label that marks an object whose deletion is refused. The label is readable for
// users who may not list the objects that protect it.
type Lock struct {
	Label, Value string
	// By are the kinds of the objects that have the label put on.
	By []schema.GroupKind
}

// Outcome is how a trial deletion ended.
type Outcome string

// The outcomes of a trial deletion.
const (
	// Allowed means that the API server would delete the object now.
	Allowed Outcome = "Allowed"
	// Refused means that the API server would not.
	Refused Outcome = "Refused"
	// Untried means that the API server did not answer the question.
	Untried Outcome = "Untried"
)

// Trial is what the API server answers now to the deletion of an object by the caller. The
// conditions of a protection tell what its operator saw last, which may be long ago.
type Trial struct {
	Outcome Outcome `json:"outcome"`
	// Text is the API server's refusal, or why nothing is known.
	Text string `json:"text,omitempty"`
}

// try deletes an object as a server-side dry run, once for each object.
func (c *Cluster) try(ctx context.Context, n *Node) (Trial, error) {
	c.mu.Lock()
	known, ok := c.trials[n]
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	trial, err := c.tryDeletion(ctx, n)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trials[n] = trial
	return trial, err
}

func (c *Cluster) tryDeletion(ctx context.Context, n *Node) (Trial, error) {
	k, ok := c.catalog.Kind(n.ID.GroupKind())
	if !ok {
		return Trial{Untried, "the cluster serves no such kind"}, nil
	}
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	options := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	if n.UID != "" {
		options.Preconditions = metav1.NewUIDPreconditions(string(n.UID))
	}
	err := c.dynamic.Resource(k.Resource).Namespace(n.ID.Namespace).Delete(limited, n.ID.Name, options)
	if err == nil {
		return Trial{Outcome: Allowed}, nil
	}
	if ctx.Err() != nil {
		return Trial{}, fmt.Errorf("try to delete %s: %w", n.ID, err)
	}
	if apierrors.IsForbidden(err) && !c.mayDelete(limited, k, n) {
		return Trial{Untried, "you may not delete it"}, nil
	}
	return judge(err), nil
}

// judge tells a refusal from an answer that leaves the question open.
func judge(err error) Trial {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	switch {
	case apierrors.IsConflict(err) && strings.Contains(text, "UID in precondition"):
		return Trial{Untried, "another object has its name now"}
	case apierrors.IsForbidden(err), apierrors.IsConflict(err), apierrors.IsInvalid(err):
		return Trial{Refused, text}
	// The webhook that is to judge does not answer, and nothing is deleted without it.
	case apierrors.IsInternalError(err) && strings.Contains(text, "failed calling webhook"):
		return Trial{Refused, text}
	// A webhook chooses the code of its refusal.
	case strings.Contains(text, "denied the request"):
		return Trial{Refused, text}
	}
	return Trial{Untried, text}
}

var selfReviews = schema.GroupVersionResource{
	Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews",
}

// mayDelete reports whether the caller has the right to delete an object. Without that right
// the API server answers 403 like a policy that refuses.
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

// tryProtected tries all those of the nodes, at once, that are said to be protected.
func (c *Cluster) tryProtected(ctx context.Context, nodes []*Node) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(c.options.Parallel)
	for _, n := range nodes {
		claimed := slices.ContainsFunc(c.index.Targeting(n.object()), func(e relation.Edge) bool {
			return e.Role == relation.Usage && c.reported(e).InForce
		})
		if !claimed || n.Deleted != nil {
			continue
		}
		group.Go(func() error {
			_, err := c.try(groupCtx, n)
			return err
		})
	}
	return group.Wait()
}

// locks returns the locks that are on a node.
func (c *Cluster) locks(n *Node) []Lock {
	var on []Lock
	for _, l := range c.options.Locks {
		if value, ok := n.Labels[l.Label]; ok && value == l.Value {
			on = append(on, l)
		}
	}
	return on
}

// hidden returns the kinds behind a lock whose objects could not all be listed.
func (c *Cluster) hidden(l Lock) []Skipped {
	var all []Skipped
	for _, gk := range l.By {
		k, _ := c.catalog.Kind(gk)
		for _, s := range c.skipped {
			if s.Group == gk.Group && (s.Resource == k.Resource.Resource || s.Resource == "*") && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// locked says what refuses the deletion of a node besides the protections that could be seen.
func (x *explainer) locked(ctx context.Context, n *Node, protections []*Finding) ([]*Finding, error) {
	if n.Deleted != nil {
		return nil, nil
	}
	trial, err := x.try(ctx, n)
	if err != nil {
		return nil, err
	}
	told := trial.Outcome != Refused // Or by a protection that could be seen.
	for _, f := range protections {
		told = told || f.enforced
	}
	var findings []*Finding
	for _, l := range x.locks(n) {
		if hidden := x.hidden(l); len(hidden) > 0 {
			findings = append(findings, lockFinding(n, l, hidden, trial))
			told = true
		}
	}
	if !told {
		findings = append(findings, &Finding{
			About: n.ID, Topic: AboutProtection, Text: "its deletion is refused: " + trial.Text,
			Next: fmt.Sprintf("nothing, unless %s is to go: then act on why its deletion is refused", n.ID),
		})
	}
	return findings, nil
}

// lockFinding tells of a lock behind which there may be objects that could not be seen.
func lockFinding(n *Node, l Lock, hidden []Skipped, trial Trial) *Finding {
	kinds, unseen := make([]string, 0, len(hidden)), make([]string, 0, len(hidden))
	for _, s := range hidden {
		kinds, unseen = append(kinds, s.GroupResource().String()), append(unseen, s.String())
	}
	f := &Finding{
		About: n.ID, Topic: AboutProtection,
		Next: fmt.Sprintf("nothing, unless %s is to go: then ask somebody who may list %s which of them protect it",
			n.ID, strings.Join(kinds, ", ")),
	}
	label := fmt.Sprintf("label %s is on it, and what protects it is not all known: %s",
		l.Label, strings.Join(unseen, ", "))
	switch trial.Outcome {
	case Refused:
		f.Text = fmt.Sprintf("its deletion is refused: %s; %s", trial.Text, label)
	case Allowed:
		f.Text = "its deletion is not refused now, although " + label
	case Untried:
		f.Text = fmt.Sprintf("its deletion is meant to be refused, which was not tried (%s): %s", trial.Text, label)
	}
	return f
}
