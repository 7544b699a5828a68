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
	// probeAgain is how long to wait before the next trial: the API server follows a changed
	// webhook configuration within this time as a rule.
	probeAgain = 20 * time.Millisecond
	// trialTimeout limits the time of a trial. Other webhooks for the same request may each
	// take 30 s.
	trialTimeout = 40 * time.Second
	// trialPatience is how long after its begin other workers wait for a trial. A worker that
	// arrives later does not wait, so that a kind with a slow webhook does not occupy all
	// MaxConcurrentReconciles.
	trialPatience = 250 * time.Millisecond
)

// scope is the set of requests that one trial confirms: DELETE of a kind, or CREATE of
// pods/eviction in a namespace (the webhook Rules.Evictions judges evictions).
type scope struct {
	schema.GroupKind

	evictedFrom string // empty for deletions
}

// String returns the request for messages: "deletes Secret objects".
func (s scope) String() string {
	if s.evictedFrom != "" {
		return "evicts Pods in namespace " + s.evictedFrom
	}
	return fmt.Sprintf("deletes %s objects", s.GroupKind)
}

// trial is a running dry-run deletion or eviction. A scope has at most one.
type trial struct {
	begun time.Time
	ended chan struct{}
	void  bool // the webhook configuration changed since: the result is not valid
}

// Confirm is done when the API server is known to call the webhook (or to evaluate the
// ValidatingAdmissionPolicy) before a DELETE of objects of obj's kind and, for a Pod, before a
// CREATE of pods/eviction in its namespace. The object must carry the label [Lock].Label.
func (r *Rules) Confirm(ctx context.Context, obj relation.Object) reconcile.Outcome {
	for _, s := range r.scopes(obj) {
		if outcome := r.confirm(ctx, s, obj); !outcome.IsDone() {
			return outcome
		}
	}
	return reconcile.Outcome{}
}

// scopes returns the scopes that [Rules.Confirm] must confirm for an object.
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

// begin returns a new trial for a scope (mine), or the running trial of another worker (other),
// or the [reconcile.Outcome] if no trial is needed or possible.
func (r *Rules) begin(ctx context.Context, s scope) (mine, other *trial, _ reconcile.Outcome) {
	confirmed, other, changes := r.state(s)
	if confirmed || other != nil {
		return nil, other, reconcile.Outcome{}
	}
	err := r.updateRules(ctx, false)
	if fault, ok := errors.AsType[*Fault](err); ok {
		// [Rules].Lost is called when the *Fault is corrected.
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
	if r.changes != changes { // The webhook configuration changed after updateRules read it.
		return nil, nil, unasked(s, probeAgain)
	}
	mine = &trial{begun: time.Now(), ended: make(chan struct{})}
	if r.trials == nil {
		r.trials = map[scope]*trial{}
	}
	r.trials[s] = mine
	return mine, nil, reconcile.Outcome{}
}

// state returns whether a scope is confirmed, its running trial, and the value of Rules.changes
// for both.
func (r *Rules) state(s scope) (confirmed bool, under *trial, changes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.confirmed[s], r.trials[s], r.changes
}

// end removes a trial and returns the [reconcile.Outcome] for the answer of the API server.
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
	case reconcile.IsSuperseded(err): // A watch reports that.
		return reconcile.Progress(sharedv1alpha1.ReasonLocking, "%s has just changed", id)
	case reconcile.IsOvertaken(err):
		return reconcile.WaitFor(time.Second, sharedv1alpha1.ReasonLocking, "%s has just changed", id)
	default:
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, fmt.Errorf("try whether %s is protected: %w", id, err))
	}
}

// await waits for the trial of another worker, for trialPatience at most.
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
	return unasked(s, max(probeAgain, time.Since(other.begun))) // The interval grows with the age of the trial.
}

func unasked(s scope, again time.Duration) reconcile.Outcome {
	return reconcile.WaitFor(again, sharedv1alpha1.ReasonLocking,
		"waiting for the API server to ask before it %s", s)
}

// void marks the running trials of some scopes as void: the ValidatingWebhookConfiguration that
// they try has changed.
func (r *Rules) void(concerned func(scope) bool) {
	for s, t := range r.trials {
		t.void = t.void || concerned(s)
	}
}

// forget removes some scopes from Rules.confirmed, and voids their trials. If an object of such
// a scope is held again, [Rules.Confirm] tries anew.
func (r *Rules) forget(concerned func(scope) bool) {
	maps.DeleteFunc(r.confirmed, func(s scope, _ bool) bool { return concerned(s) })
	r.void(concerned)
}

// Confirmed reports whether [Rules.Confirm] is done for all scopes of an object.
func (r *Rules) Confirmed(obj relation.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(r.scopes(obj), func(s scope) bool { return !r.confirmed[s] })
}

// refused reports whether err is the refusal of the webhook or policy Rules.Refuser
// (Rules.Evictions for evictions), or says that the API server called the webhook and got no
// answer. An object's name and the message of another webhook may contain any text, so refused
// compares the beginning of the message, which the API server writes itself.
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
