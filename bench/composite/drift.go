package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

// drifts is the number of Deployments that rig.drift edits, and of Deployments that rig.drift
// deletes, one at a time.
const drifts = 20

// edited is the JSON patch of another client.
const edited = `{"spec":{"template":{"spec":{"containers":[{"name":"destination","image":"example.com/other:1"}]}}}}`

// drift edits and deletes Deployments, and returns the sorted times until the operator has restored
// each Deployment.
func (r *rig) drift(ctx context.Context, ns string) (edits, deletions []time.Duration, err error) {
	for i := range min(drifts, r.connectors) {
		edit, err := r.restored(ctx, ns, deploymentName(connectorName(i), 0), func(name string) error {
			_, err := r.clients.AppsV1().Deployments(ns).Patch(ctx, name, types.StrategicMergePatchType,
				[]byte(edited), metav1.PatchOptions{FieldManager: "somebody"})
			return err
		}, func(*appsv1.Deployment) bool { return true })
		if err != nil {
			return nil, nil, err
		}
		var before types.UID
		deletion, err := r.restored(ctx, ns, deploymentName(connectorName(i), r.each-1), func(name string) error {
			d, err := r.clients.AppsV1().Deployments(ns).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			before = d.UID
			return r.clients.AppsV1().Deployments(ns).Delete(ctx, name, metav1.DeleteOptions{})
		}, func(d *appsv1.Deployment) bool { return d.UID != before })
		if err != nil {
			return nil, nil, err
		}
		edits, deletions = append(edits, edit), append(deletions, deletion)
	}
	slices.Sort(edits)
	slices.Sort(deletions)
	return edits, deletions, nil
}

// restored calls harm for a Deployment, and returns the time from before the request until a watch
// shows the Deployment with its own image again, and `and` returns true.
func (r *rig) restored(
	ctx context.Context, ns, name string, harm func(name string) error, and func(*appsv1.Deployment) bool,
) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	watch, err := r.clients.AppsV1().Deployments(ns).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
	})
	if err != nil {
		return 0, fmt.Errorf("watch Deployment %s: %w", name, err)
	}
	defer watch.Stop()
	begin := time.Now()
	if err := harm(name); err != nil {
		return 0, fmt.Errorf("harm Deployment %s: %w", name, err)
	}
	harmed := false
	for event := range watch.ResultChan() {
		d, ok := event.Object.(*appsv1.Deployment)
		if !ok {
			continue
		}
		whole := event.Type != "DELETED" && d.Spec.Template.Spec.Containers[0].Image == image
		if harmed && whole && and(d) {
			return time.Since(begin), nil
		}
		harmed = harmed || !whole
	}
	return 0, fmt.Errorf("wait for Deployment %s of namespace %s to be restored: %w", name, ns, context.Cause(ctx))
}
