package guard

import (
	"context"
	"errors"
	"fmt"
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

// trial is a deletion without effect that is under way, one for each kind at most.
type trial struct {
	begun time.Time
	ended chan struct{}
	void  bool // what it finds out may not be so any more
}

// Confirm is done when the API server is known to ask before it deletes objects
// of this object's kind. The object must carry the lock.
func (r *Rules) Confirm(ctx context.Context, obj relation.Object) reconcile.Outcome {
	gk := obj.ID.GroupKind()
	mine, other, outcome := r.begin(ctx, gk)
	switch {
	case mine != nil:
		return r.end(gk, mine, obj.ID, r.probe(ctx, obj))
	case other != nil:
		return r.await(ctx, gk, other)
	default:
		return outcome
	}
}

// begin returns the trial to make for a kind, or the one that is under way, or what is
// known without.
func (r *Rules) begin(ctx context.Context, gk schema.GroupKind) (mine, other *trial, _ reconcile.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.confirmed[gk] {
		return nil, nil, reconcile.Outcome{}
	}
	if other := r.trials[gk]; other != nil {
		return nil, other, reconcile.Outcome{}
	}
	err := r.keepAgain(ctx, false)
	if fault, ok := errors.AsType[*Fault](err); ok {
		// Lost tells when it is mended.
		return nil, nil, reconcile.Wait(sharedv1alpha1.ReasonNotEnforced, "%s", fault)
	}
	if err != nil {
		return nil, nil, reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
	mine = &trial{begun: time.Now(), ended: make(chan struct{})}
	if r.trials == nil {
		r.trials = map[schema.GroupKind]*trial{}
	}
	r.trials[gk] = mine
	return mine, nil, reconcile.Outcome{}
}

// end judges the answer to a trial.
func (r *Rules) end(gk schema.GroupKind, t *trial, id object.ID, err error) reconcile.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.trials, gk)
	close(t.ended)
	switch {
	case err == nil, t.void:
		return unasked(gk, probeAgain)
	case r.refused(err): // Before conflicts: a refusal is one.
		if r.confirmed == nil {
			r.confirmed = map[schema.GroupKind]bool{}
		}
		r.confirmed[gk] = true
		return reconcile.Outcome{}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return reconcile.Progress(sharedv1alpha1.ReasonLocking, "%s has just changed", id)
	default:
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, fmt.Errorf("try whether %s is protected: %w", id, err))
	}
}

// await waits a little for somebody else's trial.
func (r *Rules) await(ctx context.Context, gk schema.GroupKind, other *trial) reconcile.Outcome {
	patience := time.NewTimer(time.Until(other.begun.Add(trialPatience)))
	defer patience.Stop()
	select {
	case <-other.ended:
	case <-patience.C:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.confirmed[gk] {
		return reconcile.Outcome{}
	}
	return unasked(gk, max(probeAgain, time.Since(other.begun))) // Ever less often.
}

func unasked(gk schema.GroupKind, again time.Duration) reconcile.Outcome {
	return reconcile.WaitFor(again, sharedv1alpha1.ReasonLocking,
		"waiting for the API server to ask before it deletes %s objects", gk)
}

// void has trials of some kinds end without a result: what they try has changed.
func (r *Rules) void(concerned func(schema.GroupKind) bool) {
	for gk, t := range r.trials {
		t.void = t.void || concerned(gk)
	}
}

// Confirmed reports whether Confirm was done for the kind of an object.
func (r *Rules) Confirmed(obj relation.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.confirmed[obj.ID.GroupKind()]
}

// refused reports whether the API server asked who is to refuse, and was refused, or
// had no answer. Names, and what others say, may contain anything: it goes by how the
// API server itself begins what it says.
func (r *Rules) refused(err error) bool {
	if apierrors.HasStatusCause(err, CauseInUse) {
		return true
	}
	for _, beginning := range []string{
		fmt.Sprintf("admission webhook %q denied the request", r.Refuser),
		fmt.Sprintf("Internal error occurred: failed calling webhook %q", r.Refuser),
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
		return strings.HasPrefix(c.Message, fmt.Sprintf("ValidatingAdmissionPolicy '%s' ", r.Refuser))
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
