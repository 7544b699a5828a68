package iot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// tellEvery is the least time between two status writes of a release that only report progress.
// A thousand IotConnectors would otherwise cause a thousand writes.
const tellEvery = time.Second

// rollout reconciles IotConnectorReleases, one at a time. The reconciler only runs in the leader.
type rollout struct {
	cache   client.Reader
	writer  reconcile.Writer // of releases
	upgrade reconcile.Writer // of IotConnectors
	reports reconcile.Reports[*iotv1alpha1.IotConnectorReleaseStatus]
	events  events.EventRecorder
	clock   clock.PassiveClock
	denied  denials
}

func newRollout(
	cached client.Reader, live client.Client, writes *reconcile.Writes,
	recorder events.EventRecorder, now clock.PassiveClock,
) *rollout {
	return &rollout{
		cache: cached, events: recorder, clock: now,
		writer:  reconcile.Writer{Client: live, FieldOwner: fieldOwner, Writes: writes},
		upgrade: reconcile.Writer{Client: live, FieldOwner: fieldOwner, Writes: &reconcile.Writes{}},
		reports: reconcile.Reports[*iotv1alpha1.IotConnectorReleaseStatus]{
			First: tellEvery, IsProgressing: func(*iotv1alpha1.IotConnectorReleaseStatus) bool { return true },
			Coarse: func(s *iotv1alpha1.IotConnectorReleaseStatus) *iotv1alpha1.IotConnectorReleaseStatus {
				ready := metav1.Condition{Reason: reason(s.Conditions)}
				return &iotv1alpha1.IotConnectorReleaseStatus{Conditions: []metav1.Condition{ready}}
			},
		},
		denied: denials{clock: now, all: map[object.ID]map[string]denial{}},
	}
}

// releasePass is the state of one pass over an IotConnectorRelease.
type releasePass struct {
	id                object.ID
	recorded, release *iotv1alpha1.IotConnectorRelease
	plan              *plan
	// again has the pass repeated because the cache will show another state in a moment.
	again reconcile.Outcome
}

// pass returns the steps in the life of an IotConnectorRelease.
func (r *rollout) pass(read func(context.Context, object.ID) (client.Object, error)) *reconcile.Pass[*releasePass] {
	return &reconcile.Pass[*releasePass]{
		Read: read, Conclude: r.conclude, Forget: r.forget, Writes: r.writer.Writes,
		Begin: func(id object.ID, obj client.Object) *releasePass {
			recorded := obj.(*iotv1alpha1.IotConnectorRelease)
			return &releasePass{id: id, recorded: recorded, release: recorded.DeepCopy()}
		},
		Live: []reconcile.Step[*releasePass]{
			{Name: "plan upgrades", Run: r.planUpgrades},
			{Name: "upgrade IotConnectors", Run: r.upgradeConnectors},
		},
	}
}

// listen wakes every release of a namespace when an IotConnector of the namespace changes, and
// when another release is created, changed or deleted: the end of an older release leaves its
// IotConnectors to a newer one.
func (r *rollout) listen(releases, connectors *reconcile.OwnKind) error {
	wakeAll := func(namespace string) {
		for _, id := range releases.In(namespace) {
			releases.Queue.Add(id)
		}
	}
	if _, err := releases.Listen(watch.Handler(func(c watch.Change[client.Object]) {
		if c.Created() || c.Deleted() || c.Old.GetGeneration() != c.New.GetGeneration() {
			wakeAll(c.Object().GetNamespace())
		}
	})); err != nil {
		return err
	}
	_, err := connectors.Listen(watch.Handler(func(c watch.Change[client.Object]) {
		r.forgetWrite(c.Object())
		wakeAll(c.Object().GetNamespace())
	}))
	return err
}

// forgetWrite drops the record of an own write of an IotConnector that the cache now shows.
func (r *rollout) forgetWrite(c client.Object) {
	r.upgrade.Writes.Unseen(object.Of(c, connectorKind.GroupKind()), c.GetResourceVersion())
}

func (r *rollout) forget(_ context.Context, id object.ID) {
	r.reports.Forget(id)
	delete(r.denied.all, id)
}

// planUpgrades reads the IotConnectors and releases of the namespace and makes the plan.
func (r *rollout) planUpgrades(ctx context.Context, p *releasePass) reconcile.Outcome {
	var all iotv1alpha1.IotConnectorReleaseList
	var connectors iotv1alpha1.IotConnectorList
	for _, list := range []client.ObjectList{&all, &connectors} {
		if err := r.cache.List(ctx, list, client.InNamespace(p.release.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return reconcile.Fail(reasonFailed, fmt.Errorf("read namespace %s: %w", p.release.Namespace, err))
		}
	}
	var err error
	p.plan, err = newPlan(p.release, all.Items, connectors.Items, attempts{
		unseen: func(c *iotv1alpha1.IotConnector) bool {
			return r.upgrade.Writes.Unseen(object.Of(c, connectorKind.GroupKind()), c.ResourceVersion)
		},
		denied: r.denied.of(p.id, p.release, connectors.Items), now: r.clock.Now(),
	})
	return reconcile.Fail(reasonFailed, err)
}

// upgradeConnectors writes the planned upgrades. A failed upgrade does not stop the next one. If
// another client wrote an IotConnector at the same time, or an admission webhook refused an
// upgrade, the release makes a new plan.
func (r *rollout) upgradeConnectors(ctx context.Context, p *releasePass) reconcile.Outcome {
	var failed []error
	for _, u := range p.plan.next {
		_, err := r.upgrade.Object(ctx, object.Of(u.after, connectorKind.GroupKind()), u.before, u.after)
		switch {
		case err == nil:
			continue
		case reconcile.IsOvertaken(err), reconcile.IsSuperseded(err):
		case reconcile.IsDenied(err):
			r.denied.add(p.id, p.plan, u.before, err.Error())
			p.plan.deny(u.before, err.Error())
		default:
			failed = append(failed, fmt.Errorf("upgrade IotConnector %s: %w", u.before.Name, err))
			continue
		}
		p.again = reconcile.WaitForCache(reasonUpgrading, "IotConnector/%s was not upgraded", u.before.Name)
	}
	return p.plan.outcome().And(reconcile.Fail(reasonFailed, errors.Join(failed...)))
}

// conclude writes the status, and records an event when the release begins, ends or stops.
func (r *rollout) conclude(ctx context.Context, p *releasePass, outcome reconcile.Outcome) reconcile.Outcome {
	if p.plan == nil {
		return outcome // The release is being deleted, or the cache can't be read.
	}
	p.setStatus(outcome)
	outcome = outcome.And(p.again).And(reconcile.After(r.denied.next(p.id)))
	before, after := &p.recorded.Status, &p.release.Status
	if pause := r.reports.Defer(p.id, r.clock.Now(), before, after); pause > 0 {
		return outcome.And(reconcile.After(pause))
	}
	wrote, err := r.writer.Status(ctx, p.id, p.recorded, p.release, false)
	if !wrote {
		return outcome.And(reconcile.Fail(reasonFailed, client.IgnoreNotFound(err)))
	}
	r.reports.Wrote(p.id, r.clock.Now(), before, after)
	if reason(before.Conditions) != reason(after.Conditions) {
		ready := meta.FindStatusCondition(after.Conditions, conditionReady)
		kind := "Normal"
		if meta.IsStatusConditionTrue(after.Conditions, conditionStalled) {
			kind = "Warning"
		}
		r.events.Eventf(p.release, nil, kind, ready.Reason, "Upgrade", "%s", ready.Message)
	}
	return outcome
}

func (p *releasePass) setStatus(outcome reconcile.Outcome) {
	status, plan := &p.release.Status, p.plan
	status.ObservedGeneration = p.release.Generation
	status.Matched, status.UpToDate = int32(plan.matched), int32(plan.counts[upToDate])
	status.Upgrading, status.Failed = int32(plan.counts[upgrading]), int32(len(plan.failures))
	status.Failures = plan.failures[:min(len(plan.failures), maxFailures)]
	message := fmt.Sprintf("%[1]d of %[1]d IotConnectors up to date", plan.matched)
	if n := plan.counts[broken]; n > 0 {
		message += fmt.Sprintf("; %d stalled for a reason unrelated to this release", n)
	}
	if p.release.Spec.Version == iotv1alpha1.Version0 {
		message = "Version 0 changes nothing."
	}
	setConditions(&status.Conditions, outcome, condition.Done{Reason: reasonDone, Message: message}, p.release.Generation)
}

// reason returns the reason of Ready and the generation that Ready describes.
func reason(conditions []metav1.Condition) string {
	ready := meta.FindStatusCondition(conditions, conditionReady)
	if ready == nil {
		return ""
	}
	return fmt.Sprintf("%s %d", ready.Reason, ready.ObservedGeneration)
}
