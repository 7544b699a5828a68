package iot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// tellEvery is how often the progress of a release is written. A thousand
// connectors would cause a thousand writes.
const tellEvery = time.Second

// rollout carries out releases, one at a time. It only runs in the leader.
type rollout struct {
	client client.Client // reads from the cache
	events events.EventRecorder
	clock  clock.PassiveClock
	writes reconcile.Writes
	// told is when each release's status was last written. There is one worker.
	told   map[object.ID]time.Time
	denied denials
}

func newRollout(c client.Client, recorder events.EventRecorder, now clock.PassiveClock) *rollout {
	return &rollout{
		client: c, events: recorder, clock: now, told: map[object.ID]time.Time{},
		denied: denials{clock: now, all: map[object.ID]map[string]denial{}},
	}
}

// rollouts adds the controller for releases. It is one worker: releases of one
// namespace look at the same connectors.
func rollouts(mgr manager.Manager) error {
	r := newRollout(mgr.GetClient(), mgr.GetEventRecorder(eventSource), clock.RealClock{})
	err := controllerFor(mgr, "iotconnectorrelease", 1).
		For(&iotv1alpha1.IotConnectorRelease{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		// A release that goes may leave connectors to a newer one.
		Watches(&iotv1alpha1.IotConnectorRelease{}, handler.EnqueueRequestsFromMapFunc(r.inNamespace),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&iotv1alpha1.IotConnector{}, handler.EnqueueRequestsFromMapFunc(r.changed)).
		Complete(reconcile.Quiet(reconcile.Behind(mgr, r)))
	if err != nil {
		return fmt.Errorf("make controller for IotConnectorReleases: %w", err)
	}
	return nil
}

// changed returns the releases that a connector's change may concern. Our own write of it
// is forgotten when the watch brings it, or something newer such as the connector's end:
// nobody may ever ask again about one that is as it should be.
func (r *rollout) changed(ctx context.Context, obj client.Object) []ctrl.Request {
	r.writes.Unseen(object.Of(obj, connectorKind.GroupKind()), obj.GetResourceVersion())
	return r.inNamespace(ctx, obj)
}

// inNamespace returns all releases of an object's namespace.
func (r *rollout) inNamespace(ctx context.Context, obj client.Object) []ctrl.Request {
	var list iotv1alpha1.IotConnectorReleaseList
	if err := r.client.List(ctx, &list, client.InNamespace(obj.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "Releases are not told of a change", "object", obj.GetName())
		return nil
	}
	requests := make([]ctrl.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// Reconcile implements reconcile.Reconciler.
func (r *rollout) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	release := &iotv1alpha1.IotConnectorRelease{}
	id := object.ID{Group: releaseKind.Group, Kind: releaseKind.Kind, Namespace: req.Namespace, Name: req.Name}
	if err := r.client.Get(ctx, req.NamespacedName, release); err != nil {
		if apierrors.IsNotFound(err) {
			r.writes.Forget(id)
			delete(r.told, id)
			delete(r.denied.all, id)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read %s: %w", id, err)
	}
	if release.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	if r.writes.Unseen(id, release.ResourceVersion) {
		// The watch brings what was written, and wakes nobody: it is our own.
		return ctrl.Result{RequeueAfter: reconcile.ConflictRetry}, nil
	}
	p, err := r.plan(ctx, id, release)
	if err != nil {
		return ctrl.Result{}, err
	}
	again, err := r.upgrade(ctx, id, p)
	outcome := p.outcome().And(reconcile.Fail(reasonFailed, err))
	result, failure := outcome.Result()
	if again {
		result.RequeueAfter = reconcile.ConflictRetry
	}
	wait, err := r.conclude(ctx, id, p, outcome)
	if err := errors.Join(failure, err); err != nil {
		return ctrl.Result{}, err
	}
	for _, wait := range []time.Duration{wait, r.denied.next(id)} {
		if wait > 0 && (result.RequeueAfter == 0 || wait < result.RequeueAfter) {
			result.RequeueAfter = wait
		}
	}
	return result, nil
}

// plan reads everything from the cache and decides.
func (r *rollout) plan(
	ctx context.Context, id object.ID, release *iotv1alpha1.IotConnectorRelease,
) (*plan, error) {
	var all iotv1alpha1.IotConnectorReleaseList
	var connectors iotv1alpha1.IotConnectorList
	in := client.InNamespace(release.Namespace)
	if err := r.client.List(ctx, &all, in, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list releases: %w", err)
	}
	if err := r.client.List(ctx, &connectors, in, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list IotConnectors: %w", err)
	}
	return newPlan(release, all.Items, connectors.Items, attempts{
		unseen: func(c *iotv1alpha1.IotConnector) bool {
			return r.writes.Unseen(object.Of(c, connectorKind.GroupKind()), c.ResourceVersion)
		},
		denied: r.denied.of(id, release, connectors.Items), now: r.clock.Now(),
	})
}

// upgrade writes what was decided, and reports whether to decide again: where somebody
// wrote first, each write is refused that was decided on what is not so any more, and the
// watch brings what is; where somebody does not allow one, it is another's turn. What
// becomes of one is no reason to leave out the next.
func (r *rollout) upgrade(ctx context.Context, id object.ID, p *plan) (again bool, err error) {
	var failed []error
	for _, u := range p.next {
		patch := client.MergeFromWithOptions(u.before, client.MergeFromWithOptimisticLock{})
		err := r.client.Patch(ctx, u.after, patch, client.FieldOwner(fieldOwner))
		switch {
		case err == nil:
			r.writes.Wrote(object.Of(u.after, connectorKind.GroupKind()), u.after.ResourceVersion)
		case apierrors.IsNotFound(err): // Its end is an event.
		case reconcile.IsDenied(err):
			r.denied.add(id, p, u.before, err.Error())
			p.deny(u.before, err.Error())
			again = true
		case apierrors.IsConflict(err):
			again = true
		default:
			failed = append(failed, fmt.Errorf("upgrade IotConnector %s: %w", u.before.Name, err))
		}
	}
	return again, errors.Join(failed...)
}

// conclude writes the status. Progress alone it writes now and then, and returns
// when to come back for it.
func (r *rollout) conclude(
	ctx context.Context, id object.ID, p *plan, outcome reconcile.Outcome,
) (time.Duration, error) {
	before := p.release.DeepCopy()
	status := &p.release.Status
	status.ObservedGeneration = p.release.Generation
	status.Matched, status.UpToDate = int32(p.matched), int32(p.counts[upToDate])
	status.Upgrading, status.Failed = int32(p.counts[upgrading]), int32(len(p.failures))
	status.Failures = p.failures[:min(len(p.failures), maxFailures)]
	message := fmt.Sprintf("All %d IotConnectors are up to date.", p.matched)
	if n := p.counts[broken]; n > 0 {
		message = fmt.Sprintf("All %d IotConnectors are as the release asks. "+
			"%d of them are stalled, which it has not changed.", p.matched, n)
	}
	if p.release.Spec.Version == iotv1alpha1.Version0 {
		message = "Version 0 changes nothing."
	}
	setConditions(&status.Conditions, outcome, condition.Done{Reason: reasonDone, Message: message}, p.release.Generation)
	if equality.Semantic.DeepEqual(&before.Status, status) {
		return 0, nil
	}
	wait := r.told[id].Add(tellEvery).Sub(r.clock.Now())
	if wait > 0 && reason(before.Status.Conditions) == reason(status.Conditions) {
		return wait, nil
	}
	err := r.client.Status().Patch(ctx, p.release, client.MergeFrom(before), client.FieldOwner(fieldOwner))
	if err != nil {
		return 0, client.IgnoreNotFound(fmt.Errorf("write status of %s: %w", id, err))
	}
	r.told[id] = r.clock.Now()
	r.writes.Wrote(id, p.release.ResourceVersion)
	r.announce(p.release, before)
	return 0, nil
}

// reason tells what a status is about.
func reason(conditions []metav1.Condition) string {
	ready := meta.FindStatusCondition(conditions, conditionReady)
	if ready == nil {
		return ""
	}
	return fmt.Sprintf("%s %d", ready.Reason, ready.ObservedGeneration)
}

// announce tells people when a release begins, ends, or stops.
func (r *rollout) announce(release, before *iotv1alpha1.IotConnectorRelease) {
	if reason(before.Status.Conditions) == reason(release.Status.Conditions) {
		return
	}
	ready := meta.FindStatusCondition(release.Status.Conditions, conditionReady)
	kind := "Normal"
	if meta.IsStatusConditionTrue(release.Status.Conditions, conditionStalled) {
		kind = "Warning"
	}
	r.events.Eventf(release, nil, kind, ready.Reason, "Upgrade", "%s", ready.Message)
}
