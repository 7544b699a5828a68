package external

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// finish leads a deleted object to its end. Only we are left to wait for when our
// finalizer is the last one.
func (r *reconciler[K, R]) finish(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if !slices.Contains(p.Object.GetFinalizers(), r.finalizer) {
		p.done = true
		return reconcile.Outcome{}
	}
	if p.memory.isOver(p.Object.GetResourceVersion()) {
		p.done = true // The watch is late, and would have us delete once more.
		return reconcile.Outcome{}
	}
	return reconcile.Run(ctx, p, step[K, R]{Name: "dissolve", Run: r.dissolve},
		step[K, R]{Name: "retain", Run: r.retain}, step[K, R]{Name: "others", Run: r.others},
		step[K, R]{Name: "dismantle", Run: r.dismantle}, step[K, R]{Name: "leave", Run: r.leave})
}

// retain puts guards back that were stripped of what the deletion needs, such as the
// credentials.
func (r *reconciler[K, R]) retain(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if !r.removes(p) {
		return reconcile.Outcome{}
	}
	r.resolve(p, r.known(p) != "" && r.intent(p) == nil)
	return r.engine.core.Hold(ctx, p.Refs)
}

// removes reports whether there is something to delete with the object, or may be.
func (r *reconciler[K, R]) removes(p *pass[K, R]) bool {
	options := p.Object.GetExternalSpec().ManagedOptions
	detached := options != nil && options.OnDelete == sharedv1alpha1.OnDeleteDetach
	return p.managed() && !detached && (r.known(p) != "" || r.intent(p) != nil)
}

// dissolve has what the object composed deleted.
func (r *reconciler[K, R]) dissolve(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if r.kind.Dissolve == nil {
		return reconcile.Outcome{}
	}
	return r.kind.Dissolve(ctx, p.Object)
}

// dismantle has the resource deleted, if there is one and it may go.
func (r *reconciler[K, R]) dismantle(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if !r.removes(p) {
		return reconcile.Outcome{}
	}
	r.resolve(p, r.known(p) != "" && r.intent(p) == nil) // A stray did not come by retain.
	if r.intent(p) == nil && r.leavesToOthers(p, r.known(p)) {
		return reconcile.Outcome{} // That needs no credentials.
	}
	o := reconcile.Run(ctx, p, step[K, R]{Name: "connect", Run: r.connect}, step[K, R]{Name: "remove", Run: r.remove})
	if !o.IsDone() {
		return missing(p.Refs, again(o))
	}
	return reconcile.Outcome{}
}

// others returns who else holds the object. The text stays while one of those it
// names is still there: who waits for a hundred need not be told each time.
func (r *reconciler[K, R]) others(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	var outcome reconcile.Outcome
	before, now := heldBy{}, heldBy{}
	if p.memory.named != nil {
		before = *p.memory.named
	}
	for _, name := range p.Object.GetFinalizers() {
		if name == r.finalizer {
			continue
		}
		sources := r.engine.core.Sources(p.id, name)
		if len(sources) == 0 {
			outcome = outcome.And(reconcile.Wait(condition.ReasonProgressing,
				"Waiting for finalizer %s to be removed", name))
			continue
		}
		chosen := sources[0]
		if last := before[name]; slices.Contains(sources, last) {
			chosen = last
		}
		now[name] = chosen
		outcome = outcome.And(reconcile.Wait(condition.ReasonProgressing,
			"Waiting for %s to be deleted: it holds finalizer %s", chosen.Short(), name))
	}
	p.memory.named = nil
	if len(now) > 0 {
		p.memory.named = &now
	}
	return outcome
}

// missing adds to why a resource could not be deleted what is not there of what its object
// refers to: it may be for that. What is there need not be ready.
func missing(refs Refs, o reconcile.Outcome) reconcile.Outcome {
	if o.Worst().State != reconcile.Failed {
		return o
	}
	var waiting reconcile.Outcome
	credentials := false
	for _, t := range refs.Targets() {
		if t.Object() == nil {
			waiting = waiting.And(reconcile.Wait(condition.ReasonProgressing,
				"Waiting for %s to be created", t.ID().Short()))
			credentials = credentials || t.IsMetadata()
		}
	}
	if _, err := o.Result(); apierrors.IsNotFound(err) && credentials {
		return waiting // A watch tells when they come.
	}
	return waiting.And(o)
}

// remove deletes the resource, and what an attempt has perhaps made whose end is not
// recorded: also where that was to replace one that is gone.
func (r *reconciler[K, R]) remove(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if id := r.known(p); id != "" && !r.leavesToOthers(p, id) {
		missing, o := r.delete(ctx, p, id)
		if !missing || !o.IsDone() {
			return o
		}
	}
	if r.intent(p) == nil || p.memory.refused {
		return reconcile.Outcome{}
	}
	resource, found, o := r.orphan(ctx, p, r.intent(p))
	if !o.IsDone() {
		return o
	}
	if !found {
		return r.elsewhere(p).And(r.underway(p))
	}
	id := r.kind.Identify(resource).ID
	if r.leavesToOthers(p, id) {
		return reconcile.Outcome{}
	}
	_, o = r.delete(ctx, p, id)
	return o
}

// delete has one resource deleted, and tells whether it was missing.
func (r *reconciler[K, R]) delete(ctx context.Context, p *pass[K, R], id string) (missing bool, o reconcile.Outcome) {
	if o := r.distinct(p); !o.IsDone() {
		return false, o
	}
	if p.memory.deleting {
		resource, err := r.get(ctx, p, id)
		if isClass(err, Missing) {
			return true, r.elsewhere(p)
		}
		return false, r.going(p, resource, err)
	}
	if o := r.postponed(p); !o.IsDone() {
		return false, o
	}
	err := r.askToDelete(ctx, p, id)
	switch {
	case isClass(err, Missing):
		return true, r.elsewhere(p)
	case isClass(err, Busy):
		return false, r.wasBusy(p, err)
	case err != nil:
		return false, r.failed(p, err)
	case r.kind.Lingers:
		p.memory.deleting, p.memory.polls = true, polls{}
		return false, r.poll(p, "Waiting for %s to be deleted", r.engine.Noun)
	}
	return false, reconcile.Outcome{}
}

// askToDelete has one resource deleted. Where that is refused, other objects may begin to
// share the resource.
func (r *reconciler[K, R]) askToDelete(ctx context.Context, p *pass[K, R], id string) error {
	used := r.engine.usedBy(p.cloud, p.id, p.status().ObservedDependencies)
	r.engine.occupancy.begin(p.id, Resource{r.kind.GVK.GroupKind(), id, p.cloud}, used)
	err := p.actuator.Delete(ctx, p.Input, id)
	p.verdict.answered = p.verdict.answered || err == nil
	r.observer.changed(p.scope)
	if !isClass(err, Busy) {
		p.memory.busy = refusal{}
	}
	if wasAnswered(err) && !isClass(err, Missing) {
		r.claims.allowUse(p.Object.GetUID())
	}
	return err
}

// going waits until a resource is gone whose deletion was accepted. What has come to
// nothing is asked for again.
func (r *reconciler[K, R]) going(p *pass[K, R], resource R, err error) reconcile.Outcome {
	if err != nil {
		return r.failed(p, err)
	}
	state := r.kind.Observe(p.Object.DeepCopyObject().(K), resource)
	if state.Worst().State == reconcile.Invalid {
		p.memory.deleting = false
		return state
	}
	return r.poll(p, "Waiting for %s to be deleted", r.engine.Noun)
}

// again turns what is final for other passes into what is repeated: an object that is
// deleted can't go before its resource.
func again(o reconcile.Outcome) reconcile.Outcome {
	if worst := o.Worst(); worst.State == reconcile.Invalid {
		return reconcile.Fail(condition.ReasonTransientError, errors.New(worst.Message))
	}
	return o
}

// leave takes our finalizer off.
func (r *reconciler[K, R]) leave(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	u := guard.Partial(r.kind.GVK, p.Object)
	err := r.engine.Live.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(r.fieldOwner()), client.ForceOwnership)
	if err == nil && slices.Contains(u.GetFinalizers(), r.finalizer) {
		// A manifest that was applied or replaced owns it as well.
		before := u.DeepCopy()
		u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == r.finalizer }))
		err = r.engine.Live.Patch(ctx, u, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("remove the finalizer: %w", err))
	}
	if apierrors.IsConflict(err) {
		return reconcile.WaitFor(reconcile.ConflictRetry, condition.ReasonProgressing,
			"the object was changed at the same time")
	}
	if err == nil {
		p.memory.left = u.GetResourceVersion()
	}
	if r.kind.Shared == nil { // Else late events would count the object as a user again.
		r.claims.drop(p.Object.GetUID()) // It may be another's at once, if it was left behind.
	}
	r.alter(p)
	p.done = true
	return reconcile.Outcome{}
}
