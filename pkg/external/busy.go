package external

import (
	"cmp"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// The cloud refuses the deletion of a resource that is Busy. Mostly the users of the resource
// are being deleted too, and a repetition succeeds a moment later. The deletion is repeated
// at once when the last object that used the resource is gone (occupancy.go). A user without
// an object, such as a port that Neutron made for itself, has the deletion repeated every
// busyPause for busyPeriod, and then with the back-off of other failures.
const (
	busyPause  = 2 * time.Second
	busyPeriod = time.Minute
)

// refusal is the error of a refused deletion, the time of the first refusal, and the time of the
// next attempt.
type refusal struct {
	since, next time.Time
	err         error
}

// untilFree returns how long the next attempt to delete a busy resource is put off. It is zero if the
// last user of the resource has ended since.
func (r *reconciler[K, R]) untilFree(p *pass[K, R]) time.Duration {
	if r.engine.records.isDeletionFree(p.record) {
		return 0
	}
	return max(0, p.record.busy.next.Sub(r.engine.Clock.Now()))
}

// awaitFree waits for the next attempt to delete a busy resource.
func (r *reconciler[K, R]) awaitFree(p *pass[K, R]) reconcile.Outcome {
	return reconcile.Retry(r.untilFree(p), condition.ReasonTransientError, p.record.busy.err)
}

// wasBusy plans the next attempt to delete a resource that was busy.
func (r *reconciler[K, R]) wasBusy(p *pass[K, R], err error) reconcile.Outcome {
	r.engine.records.refuseDeletion(p.record)
	busy, now := &p.record.busy, r.engine.Clock.Now()
	if busy.since.IsZero() {
		busy.since = now
	}
	busy.next, busy.err = time.Time{}, err
	if r.engine.records.isDeletionFree(p.record) { // The last user ended after the refusal.
		return reconcile.Retry(0, condition.ReasonTransientError, err)
	}
	if now.Sub(busy.since) >= busyPeriod {
		return r.failed(p, err)
	}
	var after time.Duration
	if known, ok := errors.AsType[*Error](err); ok {
		after = known.After
	}
	busy.next = now.Add(cmp.Or(after, busyPause))
	return r.awaitFree(p)
}

// observed returns the object that an entry of status.observedDependencies names, and whether
// the object's kind is of the pack's own.
func (e *Engine) observed(of object.ID, d sharedv1alpha1.ObservedDependency) (object.ID, bool) {
	group := of.Group
	if source := e.own(of.GroupKind()); source != nil {
		for _, r := range source.relations { // The status does not tell the group.
			if r.Target.Kind == d.Kind {
				group = r.Target.Group
				break
			}
		}
	}
	target := object.ID{Group: group, Kind: d.Kind, Namespace: of.Namespace, Name: d.Name}
	return target, e.own(target.GroupKind()) != nil
}

// usedBy returns the resources of a cloud that a status records.
func (e *Engine) usedBy(cloud string, id object.ID, observed []sharedv1alpha1.ObservedDependency) (used []Resource) {
	for _, d := range observed {
		if target, ok := e.observed(id, d); ok {
			used = append(used, Resource{target.GroupKind(), d.ID, cloud})
		}
	}
	return used
}

// occupy records which resources an object uses, and requeues the objects whose deletions wait
// for their users.
func (e *Engine) occupy(k *kind, r *record, obj client.Object) {
	var used []Resource
	o, ok := obj.(Object)
	ok = ok && o.GetExternalSpec().ManagementPolicy != sharedv1alpha1.PolicyUnmanaged
	if ok {
		cloud := k.cloudOf(o)
		used = e.usedBy(cloud, r.id, o.GetExternalStatus().ObservedDependencies)
		if k.uses != nil {
			for _, one := range k.uses(o) {
				used = append(used, Resource{one.Kind, one.ID, cloud})
			}
		}
	}
	e.records.use(r, used, ok && o.GetDeletionTimestamp() != nil)
}

// cloudOf returns the cloud that the status of an object records.
func (k *kind) cloudOf(obj Object) string {
	if k.cloud == nil {
		return ""
	}
	return k.cloud(obj.GetExternalStatus().Place)
}
