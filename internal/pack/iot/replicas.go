package iot

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// scaler is the field manager of spec.replicas where the pack sets spec.replicas once and manages
// the field no longer. Clients that scaled the former Deployment, such as an autoscaler, scale
// the new one.
const scaler = fieldOwner + "-scale"

// managesOwnReplicas reports whether the spec of the IotConnector sets the number of Pods.
func managesOwnReplicas(o apply.Object) bool {
	_, found, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas")
	return found
}

// handOverReplicas keeps the number of Pods of a Deployment when the IotConnector no longer sets
// the number. The API server would reset spec.replicas to 1 when its last manager releases the
// field, until an autoscaler acts. So scaler becomes a manager of spec.replicas first.
func (r *reconciler) handOverReplicas(ctx context.Context, p *pass) reconcile.Outcome {
	for _, o := range p.want {
		if o.Wave != deploymentWave || managesOwnReplicas(o) {
			continue
		}
		d := r.deployment(o.ID())
		if d == nil || !metav1.IsControlledBy(d, p) || replicas(d) == 1 {
			continue
		}
		if _, asks := d.Annotations[asksForReplicas]; !asks {
			continue
		}
		if err := r.setReplicas(ctx, d, replicas(d), d.ResourceVersion); err != nil {
			return failures(fmt.Errorf("keep the number of Pods of %s: %w", o.ID().Short(), err))
		}
	}
	return reconcile.Outcome{}
}

// setReplicas sets spec.replicas of a Deployment. With a version, the write fails if the
// Deployment has changed.
func (r *reconciler) setReplicas(ctx context.Context, d *appsv1.Deployment, number int32, version string) error {
	u := guard.Partial(deploymentKind, d)
	u.Object["spec"] = fields{"replicas": int64(number)}
	u.SetResourceVersion(version)
	return r.applier.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(scaler), client.ForceOwnership)
}

// carryReplicasOver gives new Deployments the number of Pods of the largest former Deployment,
// which another client may have scaled. The former Deployments serve until then.
func (r *reconciler) carryReplicasOver(ctx context.Context, p *pass) error {
	for _, d := range r.tooSmall(p) {
		if err := r.setReplicas(ctx, d, r.formerReplicas(p), ""); err != nil {
			return fmt.Errorf("scale Deployment/%s: %w", d.Name, err)
		}
	}
	return nil
}

// tooSmall returns the new Deployments that have fewer Pods than the former ones, and whose
// number of Pods the IotConnector does not set.
func (r *reconciler) tooSmall(p *pass) []*appsv1.Deployment {
	former := r.formerReplicas(p)
	var small []*appsv1.Deployment
	for _, o := range p.want {
		d := r.deployment(o.ID())
		if o.Wave == deploymentWave && !managesOwnReplicas(o) && d != nil && replicas(d) < former {
			small = append(small, d)
		}
	}
	return small
}

// formerReplicas returns the number of Pods of the largest Deployment that will be replaced, or
// zero if no Deployment will be replaced.
func (r *reconciler) formerReplicas(p *pass) int32 {
	if !p.isSwitching() {
		return 0
	}
	var most int32
	for _, e := range p.have {
		if e.GroupKind() != deploymentKind.GroupKind() || p.wants(e.ID) {
			continue
		}
		if d := r.deployment(e.ID); d != nil && d.UID == e.UID {
			most = max(most, replicas(d))
		}
	}
	return most
}
