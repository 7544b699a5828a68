package iot

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// changedJustNow is the message until the Deployment controller has observed a change.
const changedJustNow = "was changed just now"

// deployment returns a Deployment as the cache shows it, or nil. Group and kind of the id need
// not be set. The Deployment belongs to the cache.
func (r *reconciler) deployment(id object.ID) *appsv1.Deployment {
	id.Group, id.Kind = deploymentKind.Group, deploymentKind.Kind
	d, _ := r.stores.Object(id).(*appsv1.Deployment)
	return d
}

// readiness returns which of the wanted Deployments are not available yet. Foreign objects are
// left out.
func (r *reconciler) readiness(p *pass, foreign []object.ID) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, o := range p.want {
		if o.Wave != deploymentWave || slices.Contains(foreign, o.ID()) {
			continue
		}
		d := r.deployment(o.ID())
		ok, missing := available(d)
		message, stuck := exceeded(d)
		switch {
		case r.isOutdated(d):
			outcome = outcome.And(reconcile.Progress(reasonProgressing, "%s %s", o.ID().Short(), changedJustNow))
		case ok:
		case stuck:
			outcome = outcome.And(reconcile.Refuse(reasonNoProgress, "%s makes no progress: %s", o.ID().Short(), message))
		default:
			outcome = outcome.And(reconcile.Progress(reasonProgressing, "%s %s", o.ID().Short(), missing))
		}
	}
	return outcome
}

// isReady reports whether the object of an inventory entry exists and, if the object is a
// Deployment, is available.
func (r *reconciler) isReady(e apply.Entry) bool {
	if e.UID == "" || e.GroupKind() != deploymentKind.GroupKind() {
		return e.UID != ""
	}
	d := r.deployment(e.ID)
	if d == nil || d.UID != e.UID || r.isOutdated(d) {
		return false
	}
	ok, _ := available(d)
	return ok
}

// isOutdated reports whether the cache shows a Deployment as it was before the own last write.
// Its status describes Pods of the former image: a release would take the new image for good.
func (r *reconciler) isOutdated(d *appsv1.Deployment) bool {
	return d != nil && r.applier.Unseen(object.Of(d, deploymentKind.GroupKind()), d.ResourceVersion)
}

// have returns the inventory, and the Deployments that the IotConnector controls and that are
// not in the inventory: an older controller recorded none.
func (r *reconciler) have(p *pass) []apply.Entry {
	all := entries(p.IotConnector)
	for _, d := range r.stores.ComposedOf(p.UID, deploymentKind.GroupKind()) {
		id := object.Of(d, deploymentKind.GroupKind())
		isKnown := slices.ContainsFunc(all, func(e apply.Entry) bool { return e.ID == id })
		if d.GetNamespace() == p.Namespace && !isKnown {
			all = append(all, apply.Entry{ID: id, Version: deploymentKind.Version, UID: d.GetUID(), Wave: deploymentWave})
		}
	}
	return all
}

// replicas returns how many Pods a Deployment asks for.
func replicas(d *appsv1.Deployment) int32 { return ptr.Deref(d.Spec.Replicas, 1) }

// available reports whether every Pod of a Deployment is available and has the latest template,
// and describes what is missing. Pods of a former template, which exist until the new Pods are
// available, don't count.
func available(d *appsv1.Deployment) (bool, string) {
	if d == nil {
		return false, "does not exist yet"
	}
	want, serving := replicas(d), min(d.Status.UpdatedReplicas, d.Status.AvailableReplicas)
	switch {
	case d.Status.ObservedGeneration < d.Generation:
		return false, changedJustNow
	case serving < want:
		return false, fmt.Sprintf("has %d of %d Pods available", serving, want)
	case d.Status.Replicas > d.Status.UpdatedReplicas:
		return false, fmt.Sprintf("still has %d Pods of before the change", d.Status.Replicas-d.Status.UpdatedReplicas)
	default:
		return true, ""
	}
}

// exceeded returns the message of a Deployment whose condition Progressing is False. A condition
// of before the latest change doesn't count.
func exceeded(d *appsv1.Deployment) (string, bool) {
	if d == nil || d.Status.ObservedGeneration < d.Generation {
		return "", false
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			return c.Message, true
		}
	}
	return "", false
}
