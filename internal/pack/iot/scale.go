package iot

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/apply"
)

// scaler is the field manager of replicas that are carried over. They are not ours
// from then on: whoever scaled the former Deployment scales the new ones.
const scaler = fieldOwner + "-scale"

// keepNumber leaves Deployments the number of Pods that the connector asked for until now
// and asks for no more. What nobody asks for the API server sets back to one, until an
// autoscaler has looked. It is asked for in another name for that, which never changes it.
func (r *reconciler) keepNumber(ctx context.Context, p *pass, want []apply.Object) error {
	for _, o := range want {
		_, managed, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas")
		if o.Wave != deploymentWave || managed {
			continue
		}
		d := r.view.deployment(o.ID().NamespacedName())
		if d == nil || !metav1.IsControlledBy(d, p) || replicas(d) == 1 {
			continue
		}
		if _, asks := d.Annotations[asksForReplicas]; !asks {
			continue
		}
		if err := r.ask(ctx, d, replicas(d), d.ResourceVersion); err != nil {
			return fmt.Errorf("keep the number of Pods of %s: %w", o.ID().Short(), err)
		}
	}
	return nil
}

// ask asks for a number of Pods of a Deployment, of whatever version if none is given.
func (r *reconciler) ask(ctx context.Context, d *appsv1.Deployment, number int32, version string) error {
	u := &unstructured.Unstructured{Object: fields{"spec": fields{"replicas": int64(number)}}}
	u.SetGroupVersionKind(deploymentKind)
	u.SetNamespace(d.Namespace)
	u.SetName(d.Name)
	u.SetUID(d.UID)
	u.SetResourceVersion(version)
	return r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(scaler), client.ForceOwnership)
}

// scale has Deployments that take over from others begin with as many Pods as the
// largest of those has: somebody has scaled it, and it serves until they do.
func (r *reconciler) scale(ctx context.Context, p *pass, want []apply.Object) error {
	for _, o := range r.small(p, want) {
		d := r.view.deployment(o.ID().NamespacedName())
		if d == nil {
			continue // It was deleted since, which is an event.
		}
		if err := r.ask(ctx, d, r.former(p, want), ""); err != nil {
			return fmt.Errorf("scale %s: %w", o.ID().Short(), err)
		}
	}
	return nil
}

// asMany reports whether what takes over is known to have as many Pods.
func (r *reconciler) asMany(p *pass, want []apply.Object) bool { return len(r.small(p, want)) == 0 }

// small returns the Deployments that have fewer Pods than what they take over from,
// and leave their number to others.
func (r *reconciler) small(p *pass, want []apply.Object) []apply.Object {
	former := r.former(p, want)
	var small []apply.Object
	for _, o := range want {
		_, managed, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas")
		d := r.view.deployment(o.ID().NamespacedName())
		if o.Wave == deploymentWave && !managed && d != nil && replicas(d) < former {
			small = append(small, o)
		}
	}
	return small
}

// former returns how many Pods the largest of the Deployments has that are to be
// replaced, and zero when there is nothing to replace.
func (r *reconciler) former(p *pass, want []apply.Object) int32 {
	if !p.switching() {
		return 0
	}
	wanted := map[string]bool{}
	for _, o := range want {
		wanted[o.ID().String()] = true
	}
	var most int32
	for _, e := range p.have {
		d := r.view.deployment(e.NamespacedName())
		if e.GroupKind() == deploymentKind.GroupKind() && !wanted[e.String()] && d != nil && d.UID == e.UID {
			most = max(most, replicas(d))
		}
	}
	return most
}
