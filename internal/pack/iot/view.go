package iot

import (
	"bytes"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// byOwner is the index of Deployments by the uid of the connector that controls
// them.
const byOwner = "owner"

// view knows of every object of the kinds that are made, also of those that
// others have made: they may have the name that is wanted. It keeps as little of
// each as possible.
type view struct {
	indexers map[schema.GroupKind]toolscache.Indexer
}

// hear has a cache watch the objects of a kind.
func (v *view) hear(ctx context.Context, c cache.Cache, gk schema.GroupKind, obj client.Object) error {
	informer, err := watch.Open(ctx, c, gk, obj)
	if err != nil {
		return err
	}
	err = informer.AddIndexers(toolscache.Indexers{byOwner: func(obj any) ([]string, error) {
		if owner, ok := owned(obj); ok {
			return []string{string(owner.UID)}, nil
		}
		return nil, nil
	}, byConnector: func(obj any) ([]string, error) {
		if meta, ok := obj.(metav1.Object); ok && connectorOf(meta) != "" {
			return []string{types.NamespacedName{Namespace: meta.GetNamespace(), Name: connectorOf(meta)}.String()}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return fmt.Errorf("watch %s: %w", gk, err)
	}
	v.indexers[gk] = informer.GetIndexer()
	return nil
}

// Get implements apply.View.
func (v *view) Get(id object.ID) (apply.Observed, bool) {
	indexer, ok := v.indexers[id.GroupKind()]
	if !ok {
		return apply.Observed{}, false
	}
	found, exists, err := indexer.GetByKey(id.NamespacedName().String())
	if err != nil || !exists {
		return apply.Observed{}, false
	}
	return apply.Observe(found.(metav1.Object), fieldOwner), true
}

// deployment returns a Deployment as it was last seen, or nil. It is shared: only
// read it.
func (v *view) deployment(key types.NamespacedName) *appsv1.Deployment {
	found, exists, err := v.indexers[deploymentKind.GroupKind()].GetByKey(key.String())
	if err != nil || !exists {
		return nil
	}
	return found.(*appsv1.Deployment)
}

// ownedBy returns the Deployments of a connector, as they were last seen.
func (v *view) ownedBy(uid types.UID) []*appsv1.Deployment {
	found, err := v.indexers[deploymentKind.GroupKind()].ByIndex(byOwner, string(uid))
	if err != nil {
		return nil
	}
	all := make([]*appsv1.Deployment, 0, len(found))
	for _, f := range found {
		all = append(all, f.(*appsv1.Deployment))
	}
	return all
}

// owned returns the connector that controls an object.
func owned(obj any) (*metav1.OwnerReference, bool) {
	meta, ok := obj.(metav1.Object)
	if !ok {
		return nil, false
	}
	owner := metav1.GetControllerOfNoCopy(meta)
	if owner == nil || owner.Kind != connectorKind.Kind {
		return nil, false
	}
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	return owner, err == nil && group.Group == connectorKind.Group
}

// asksForReplicas stands in the cache, which keeps no annotations of others, for that we are
// among those who have asked for a Deployment's number of Pods.
const asksForReplicas = "replicas"

// trim keeps of an object what has to be known of it: of a stranger's that it is
// there, of ours what it takes to see an edit, a lock, and whether it serves.
func trim(cached any) (any, error) {
	obj, ok := cached.(client.Object)
	if !ok {
		return cached, nil
	}
	small := metav1.ObjectMeta{
		Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(),
		DeletionTimestamp: obj.GetDeletionTimestamp(), OwnerReferences: obj.GetOwnerReferences(),
	}
	// Also of what isn't ours: somebody may have taken the owner off.
	for _, f := range obj.GetManagedFields() {
		if apply.IsOwn(f, fieldOwner) {
			if bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(`"f:replicas":`)) {
				small.Annotations = map[string]string{asksForReplicas: ""}
			}
			small.ManagedFields = append(small.ManagedFields, apply.Compact(f))
		}
	}
	if _, ours := owned(obj); ours {
		small.Labels = locks(obj.GetLabels())
	} else if name := connectorOf(obj); name != "" {
		small.Labels = map[string]string{connectorLabel: name}
	}
	switch o := cached.(type) {
	case *corev1.ServiceAccount:
		*o = corev1.ServiceAccount{ObjectMeta: small}
	case *unstructured.Unstructured:
		return bare(o.GroupVersionKind(), small)
	case *appsv1.Deployment:
		o.ObjectMeta = small
		selector, replicas := o.Spec.Selector, o.Spec.Replicas
		o.Spec = appsv1.DeploymentSpec{}
		if _, ours := owned(o); !ours {
			o.Status = appsv1.DeploymentStatus{}
			break
		}
		o.Spec.Selector, o.Spec.Replicas = selector, replicas
	}
	return cached, nil
}

// locks returns the labels that are not ours: whoever keeps an object from being deleted
// may say so by one.
func locks(labels map[string]string) map[string]string {
	var others map[string]string
	for key, value := range labels {
		switch key {
		case managedByLabel, connectorLabel, deploymentLabel, typeLabel, workloadIdentityUse:
		default:
			if others == nil {
				others = map[string]string{}
			}
			others[key] = value
		}
	}
	return others
}

// bare returns an object that is its metadata and nothing else.
func bare(gvk schema.GroupVersionKind, m metav1.ObjectMeta) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&m)
	if err != nil {
		return nil, fmt.Errorf("trim %s: %w", gvk.Kind, err)
	}
	u := &unstructured.Unstructured{Object: fields{"metadata": content}}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

// replicas returns how many Pods a Deployment asks for.
func replicas(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// changedJustNow is what is missing until Kubernetes has seen a change.
const changedJustNow = "was changed just now"

// available reports whether a Deployment serves as a whole, and as it is now, and says
// what is missing. Available Pods may be those from before a change, which stay for as
// long as the new ones don't serve.
func available(d *appsv1.Deployment) (bool, string) {
	if d == nil {
		return false, "is not there yet"
	}
	want := replicas(d)
	switch {
	case d.Status.ObservedGeneration < d.Generation:
		return false, changedJustNow
	case d.Status.UpdatedReplicas < want || d.Status.AvailableReplicas < want:
		return false, fmt.Sprintf("has %d of %d available", min(d.Status.UpdatedReplicas, d.Status.AvailableReplicas), want)
	case d.Status.Replicas > d.Status.UpdatedReplicas:
		return false, fmt.Sprintf("still has %d Pods of before the change", d.Status.Replicas-d.Status.UpdatedReplicas)
	default:
		return true, ""
	}
}

// exceeded returns what Kubernetes says of a Deployment that makes no progress. What it
// said before a change is no word on that.
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
