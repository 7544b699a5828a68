package guard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const (
	// probeAgain is how long the API server may take to follow a configuration.
	probeAgain = 20 * time.Millisecond
	// trialTimeout bounds a trial. Whoever else the API server asks may take 30 s.
	trialTimeout = 40 * time.Second
	// trialPatience is how long others wait for a trial. Those that come later than that
	// don't wait at all, so that a kind which is answered slowly keeps nobody busy.
	trialPatience = 250 * time.Millisecond
)

// scope is what is confirmed by one trial: deletions of a kind, or evictions of Pods in
// a namespace, of which the webhook for evictions is asked apart.
type scope struct {
	schema.GroupKind

	evictedFrom string // empty for deletions
}

// String returns what to wait for.
func (s scope) String() string {
	if s.evictedFrom != "" {
		return "evicts Pods in namespace " + s.evictedFrom
	}
	return fmt.Sprintf("deletes %s objects", s.GroupKind)
}

// trial is an attempt without effect that is under way, one for each scope at most.
type trial struct {
	begun time.Time
	ended chan struct{}
	void  bool // what it finds out may not be so any more
}

// Confirm is done when the API server is known to ask before it deletes objects
// of this object's kind, and before it evicts Pods from this one's namespace. The
// object must carry the lock.
func (r *Rules) Confirm(ctx context.Context, obj relation.Object) reconcile.Outcome {
	for _, s := range r.scopes(obj) {
		if outcome := r.confirm(ctx, s, obj); !outcome.IsDone() {
			return outcome
		}
	}
	return reconcile.Outcome{}
}

// scopes returns what has to be confirmed for an object.
func (r *Rules) scopes(obj relation.Object) []scope {
	gk := obj.ID.GroupKind()
	if gk != podKind || r.Evictions == "" || r.Configuration == "" {
		return []scope{{GroupKind: gk}}
	}
	return []scope{{GroupKind: gk}, {gk, obj.ID.Namespace}}
}

func (r *Rules) confirm(ctx context.Context, s scope, obj relation.Object) reconcile.Outcome {
	mine, other, outcome := r.begin(ctx, s)
	switch {
	case mine != nil && s.evictedFrom != "":
		return r.end(s, mine, obj.ID, r.probeEviction(ctx, obj))
	case mine != nil:
		return r.end(s, mine, obj.ID, r.probe(ctx, obj))
	case other != nil:
		return r.await(ctx, s, other)
	default:
		return outcome
	}
}

// begin returns the trial to make for a scope, or the one that is under way, or what is
// known without.
func (r *Rules) begin(ctx context.Context, s scope) (mine, other *trial, _ reconcile.Outcome) {
	confirmed, other, changes := r.state(s)
	if confirmed || other != nil {
		return nil, other, reconcile.Outcome{}
	}
	err := r.keep(ctx, false)
	if fault, ok := errors.AsType[*Fault](err); ok {
		// Lost tells when it is mended.
		return nil, nil, reconcile.Wait(sharedv1alpha1.ReasonNotEnforced, "%s", fault)
	}
	if err != nil {
		return nil, nil, reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.confirmed[s] || r.trials[s] != nil { // Another worker was quicker.
		return nil, r.trials[s], reconcile.Outcome{}
	}
	if r.changes != changes { // What keep looked at may not be so any more.
		return nil, nil, unasked(s, probeAgain)
	}
	mine = &trial{begun: time.Now(), ended: make(chan struct{})}
	if r.trials == nil {
		r.trials = map[scope]*trial{}
	}
	r.trials[s] = mine
	return mine, nil, reconcile.Outcome{}
}

// state returns what is known of a scope, and the count of changes that this knowledge
// is from.
func (r *Rules) state(s scope) (confirmed bool, under *trial, changes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.confirmed[s], r.trials[s], r.changes
}

// end judges the answer to a trial.
func (r *Rules) end(s scope, t *trial, id object.ID, err error) reconcile.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.trials, s)
	close(t.ended)
	switch {
	case err == nil, t.void, s.evictedFrom != "" && apierrors.IsTooManyRequests(err): // A PodDisruptionBudget's answer.
		return unasked(s, probeAgain)
	case r.refused(s, err): // Before conflicts: a refusal is one.
		if r.confirmed == nil {
			r.confirmed = map[scope]bool{}
		}
		r.confirmed[s] = true
		return reconcile.Outcome{}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return reconcile.Progress(sharedv1alpha1.ReasonLocking, "%s has just changed", id)
	default:
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, fmt.Errorf("try whether %s is protected: %w", id, err))
	}
}

// await waits a little for somebody else's trial.
func (r *Rules) await(ctx context.Context, s scope, other *trial) reconcile.Outcome {
	patience := time.NewTimer(time.Until(other.begun.Add(trialPatience)))
	defer patience.Stop()
	select {
	case <-other.ended:
	case <-patience.C:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.confirmed[s] {
		return reconcile.Outcome{}
	}
	return unasked(s, max(probeAgain, time.Since(other.begun))) // Ever less often.
}

func unasked(s scope, again time.Duration) reconcile.Outcome {
	return reconcile.WaitFor(again, sharedv1alpha1.ReasonLocking,
		"waiting for the API server to ask before it %s", s)
}

// void has some trials end without a result: what they try has changed.
func (r *Rules) void(concerned func(scope) bool) {
	for s, t := range r.trials {
		t.void = t.void || concerned(s)
	}
}

// forget has something confirmed anew, when it is held again.
func (r *Rules) forget(concerned func(scope) bool) {
	maps.DeleteFunc(r.confirmed, func(s scope, _ bool) bool { return concerned(s) })
	r.void(concerned)
}

// Confirmed reports whether Confirm was done for all that an object needs.
func (r *Rules) Confirmed(obj relation.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(r.scopes(obj), func(s scope) bool { return !r.confirmed[s] })
}

// refused reports whether the API server asked who is to refuse, and was refused, or
// had no answer. Names, and what others say, may contain anything: it goes by how the
// API server itself begins what it says.
func (r *Rules) refused(s scope, err error) bool {
	refuser := r.Refuser
	if s.evictedFrom != "" {
		refuser = r.Evictions
	}
	if apierrors.HasStatusCause(err, CauseInUse) {
		return true
	}
	for _, beginning := range []string{
		fmt.Sprintf("admission webhook %q denied the request", refuser),
		fmt.Sprintf("Internal error occurred: failed calling webhook %q", refuser),
	} {
		if strings.HasPrefix(err.Error(), beginning) {
			return true
		}
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return strings.HasPrefix(c.Message, fmt.Sprintf("ValidatingAdmissionPolicy '%s' ", refuser))
	})
}

func (r *Rules) probe(ctx context.Context, obj relation.Object) error {
	mapping, err := r.Watcher.Mapping(obj.ID.GroupKind().WithVersion(""))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	return r.Metadata.Resource(mapping.Resource).Namespace(obj.ID.Namespace).Delete(ctx, obj.ID.Name,
		metav1.DeleteOptions{
			DryRun:        []string{metav1.DryRunAll},
			Preconditions: &metav1.Preconditions{UID: &obj.UID},
		})
}
