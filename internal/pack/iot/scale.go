package iot

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/apply"
)

// scaler is the field manager of replicas that are carried over. They are not ours
// from then on: whoever scaled the former Deployment scales the new ones.
const scaler = fieldOwner + "-scale"

// scale has Deployments that take over from others begin with as many Pods as the
// largest of those has: somebody has scaled it, and it serves until they do.
func (r *reconciler) scale(ctx context.Context, p *pass, want []apply.Object) error {
	for _, o := range r.small(p, want) {
		u := &unstructured.Unstructured{Object: fields{"spec": fields{"replicas": int64(r.former(p, want))}}}
		u.SetGroupVersionKind(deploymentKind)
		u.SetNamespace(p.Namespace)
		u.SetName(o.GetName())
		d := r.view.deployment(o.ID().NamespacedName())
		if d == nil {
			continue // It was deleted since, which is an event.
		}
		u.SetUID(d.UID)
		err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
			client.FieldOwner(scaler), client.ForceOwnership)
		if err != nil {
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
