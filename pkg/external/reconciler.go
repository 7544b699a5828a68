package external

import (
	"context"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// reconciler runs the passes over the objects of a [Kind], from creation to deletion. Only the leader runs
// passes.
type reconciler[K Object, R any] struct {
	engine    *Engine
	kind      Kind[K, R]
	finalizer string
	life      *reconcile.Pass[*pass[K, R]]
	observer  *observer[R]
	writes    reconcile.Writes
	reports   *reconcile.Reports[report]
	turns     *turns
}

// pass is a single pass over an object.
type pass[K Object, R any] struct {
	Input[K]

	id     object.ID
	record *record
	before K // as read or last written, to find what changed
	// unowned is the object as read, until the owner references of pass.Object are written
	// (reconciler.writeOwners).
	unowned  client.Object
	actuator Actuator[K, R]
	scope    string
	place    string
	cloud    string
	// resource is the resource that the step obtainResource has read, found or created.
	resource R
	sight    condition.Sight
	// missing is the outcome of resolveReferences. The step awaitReferences returns the outcome.
	missing reconcile.Outcome
	// late says that a target of a relation with relation.Later is missing. The resource can be created
	// without that target, and does not serve before the target exists.
	late bool
	// again is the pause after which a refused object is reconciled again; zero means at the object's next
	// change.
	again time.Duration
	// waits says that awaitReferences ended the pass. takenAlong says that awaitOwner did.
	waits, takenAlong bool
	// altered is when the resource of another object changed the object's resource (alter.go); zero if no
	// such change happened.
	altered time.Time
	// corrected says that Actuator.Update was called.
	corrected bool
	// settled says that nothing changed since the last pass (endIfSettled), so the pass sent no request.
	settled bool
	// gone says that the object is deleted, or no longer has the operator's finalizer (endIfReleased).
	gone bool
	// reserved says that the object has a reservation of its place (serial.go). underway says that a change
	// of the resource has not ended.
	reserved, underway bool
	// site is the place that the pass calls ([Kind.Site]). entered says that the pass has a turn at the site.
	// verdict is the result of the calls (turns.leave).
	site    string
	entered bool
	verdict verdict
	// parked says that the pass ended without a turn. unanswered says that the circuit of the place is open
	// (turns.request).
	parked, unanswered bool
}

// step is a part of a pass, such as connect.
type step[K Object, R any] = reconcile.Step[*pass[K, R]]

// steps returns the steps of a pass over an object that exists (Live), and over a deleted object (Ending).
// A step whose reconcile.Outcome is not done ends the pass. Each step is in a file of its own, such as
// awaitFinalizers in cascade.go.
func (r *reconciler[K, R]) steps() *reconcile.Pass[*pass[K, R]] {
	return &reconcile.Pass[*pass[K, R]]{
		Read: r.read, Begin: r.begin, Conclude: r.conclude, Writes: &r.writes,
		Forget: func(_ context.Context, id object.ID) { r.reports.Forget(id) }, // A late pass may have reported.
		Live: untilEnd([]step[K, R]{
			{Name: "endIfForgotten", Run: r.endIfForgotten},
			{Name: "resolveReferences", Run: r.resolveReferences},
			{Name: "restoreFinalizers", Run: r.restoreFinalizers},
			{Name: "endIfSettled", Run: r.endIfSettled},
			{Name: "refuseRestored", Run: r.refuseRestored},
			{Name: "awaitReferences", Run: r.awaitReferences},
			{Name: "setOwners", Run: r.setOwners},
			{Name: "connect", Run: r.connect},
			{Name: "guardTargets", Run: r.guardTargets},
			{Name: "obtainResource", Run: r.obtainResource},
			{Name: "completeResource", Run: r.completeResource},
			{Name: "correctResource", Run: r.correctResource},
			{Name: "observeResource", Run: r.observeResource},
		}),
		Ending: untilEnd([]step[K, R]{
			{Name: "endIfForgotten", Run: r.endIfForgotten},
			{Name: "endIfReleased", Run: r.endIfReleased},
			{Name: "dissolve", Run: r.dissolve},
			{Name: "restoreGuards", Run: r.restoreGuards},
			{Name: "awaitFinalizers", Run: r.awaitFinalizers},
			{Name: "awaitUsersOfOwned", Run: r.awaitUsersOfOwned},
			{Name: "awaitOwner", Run: r.awaitOwner},
			{Name: "deleteResource", Run: r.deleteResource},
			{Name: "deleteOwned", Run: r.deleteOwned},
			{Name: "removeFinalizer", Run: r.removeFinalizer},
		}),
	}
}

// untilEnd skips the remaining steps once pass.settled or pass.gone is set: a settled or deleted object is
// done, and waits for nothing.
func untilEnd[K Object, R any](steps []step[K, R]) []step[K, R] {
	for i, s := range steps {
		steps[i].Run = func(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
			if p.settled || p.gone {
				return reconcile.Outcome{}
			}
			return s.Run(ctx, p)
		}
	}
	return steps
}

func (p *pass[K, R]) status() *sharedv1alpha1.ExternalStatus { return p.Object.GetExternalStatus() }

func (p *pass[K, R]) managed() bool { return isManaged(p.Object) }

// used returns the values of the references in the form of status.observedDependencies. An Unmanaged object
// has none, because an imported resource does not use the targets by which spec.import found the resource.
func (p *pass[K, R]) used() (all []sharedv1alpha1.ObservedDependency) {
	for _, t := range p.Refs.Targets() {
		d, ok := observedTarget(t)
		if ok && p.managed() && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

// Reconcile implements reconcile.TypedReconciler.
func (r *reconciler[K, R]) Reconcile(ctx context.Context, id object.ID) (ctrl.Result, error) {
	ctx, end := r.engine.Account(ctx)
	defer end()
	ctx = r.engine.Tenant(ctx, id.Namespace)
	r.turns.begin(id)
	defer r.turns.end(id)
	pause := r.sweep(ctx, id)
	res, err := r.life.Reconcile(ctx, id)
	if err == nil && pause > 0 && (res.RequeueAfter == 0 || pause < res.RequeueAfter) {
		res.RequeueAfter = pause
	}
	return res, err
}

func (r *reconciler[K, R]) read(_ context.Context, id object.ID) (client.Object, error) {
	return r.engine.core.Get(id), nil
}

func (r *reconciler[K, R]) begin(id object.ID, obj client.Object) *pass[K, R] {
	one := r.engine.records.of(id, obj.GetUID())
	return &pass[K, R]{
		Input: Input[K]{Object: obj.DeepCopyObject().(K)}, id: id, before: obj.(K),
		record: one, reserved: r.engine.records.beginPass(one),
	}
}

// endIfForgotten ends the pass if the object was deleted after reconciler.read. records.forget has dropped
// the record that said whether the resource is already deleted. The watch reports the deletion, or another
// object of the same name.
func (r *reconciler[K, R]) endIfForgotten(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	p.gone = p.record.gone.Load()
	return reconcile.Outcome{}
}

// learn is called with each object and the cloud in its status. records.learnClaim keeps other objects
// from getting the resource of a status.id. reconciler.restoreChange keeps other objects from changing
// resources in a place in which an intent records a creation.
func (r *reconciler[K, R]) learn(one *record, obj client.Object, cloud string) {
	r.restoreChange(one, obj)
	o := obj.(K)
	id := idOf(o)
	switch {
	case o.GetDeletionTimestamp() != nil && !slices.Contains(o.GetFinalizers(), r.finalizer):
		r.engine.records.dropLearnt(one)
	case id != "" && isManaged(o):
		r.engine.records.learnClaim(one, r.claimed(cloud, o, id))
	}
}

// forget drops the record of a deleted object. The record of a stray is kept until reconciler.clear has
// deleted the resource (stray.go).
func (r *reconciler[K, R]) forget(one *record) {
	r.reports.Forget(one.id)
	if one.stray == nil {
		r.drop(one)
		return
	}
	r.endTask(one)
	r.engine.records.use(one, nil, false)
}

// endTask calls Tasks.Drop for the object.
func (r *reconciler[K, R]) endTask(one *record) {
	if r.kind.Tasks != nil {
		r.kind.Tasks.Drop(one.uid)
	}
}

// drop forgets an object and its task. A late pass may have begun the task again, so drop calls
// reconciler.endTask too.
func (r *reconciler[K, R]) drop(one *record) {
	r.endTask(one)
	r.engine.records.forget(one)
}
