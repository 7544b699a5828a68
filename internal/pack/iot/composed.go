package iot

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/apply"
)

// asksForReplicas is an annotation that only the cache has. It is set on a Deployment whose
// spec.replicas is managed by fieldOwner.
const asksForReplicas = "replicas"

// composedKinds returns the kinds that IotConnectors are made of. Go types and Unstructured are
// used, and not PartialObjectMetadata: a metadata watch of controller-runtime leaks a goroutine.
func composedKinds(mapper meta.RESTMapper, options Options) ([]apply.Kind, error) {
	kinds := []apply.Kind{{
		GroupKind: deploymentKind.GroupKind(), Example: &appsv1.Deployment{}, Differs: differs,
		Indexers: toolscache.Indexers{byConnector: indexConnector},
	}}
	if options.Identity != PodIdentity {
		return append(kinds, apply.Kind{
			GroupKind: accountKind.GroupKind(), Example: &corev1.ServiceAccount{}, Differs: differs,
		}), nil
	}
	for _, gvk := range []schema.GroupVersionKind{azureIdentityKind, azureBindingKind} {
		_, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("identity is %s, and the cluster does not know the kind %s: "+
				"install its definition, or use %s", PodIdentity, gvk.Kind, WorkloadIdentity)
		}
		if err != nil {
			return nil, fmt.Errorf("find kind %s: %w", gvk.Kind, err)
		}
		example := &unstructured.Unstructured{}
		example.SetGroupVersionKind(gvk)
		kinds = append(kinds, apply.Kind{GroupKind: gvk.GroupKind(), Example: example, Differs: differs})
	}
	return kinds, nil
}

// differs reports whether an update of a composed object concerns its IotConnector: a label of
// another client, which may block the deletion, or the availability of a Deployment.
func differs(before, after client.Object) bool {
	if !maps.Equal(before.GetLabels(), after.GetLabels()) {
		return true
	}
	old, ok := before.(*appsv1.Deployment)
	return ok && availability(old) != availability(after.(*appsv1.Deployment))
}

// availability describes how far a Deployment is; the text is empty if the Deployment is
// available.
func availability(d *appsv1.Deployment) string {
	ok, missing := available(d)
	if ok {
		return ""
	}
	said, _ := exceeded(d)
	return missing + said
}

// owned returns the owner reference of an object to the IotConnector that controls the object.
func owned(obj any) (*metav1.OwnerReference, bool) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, false
	}
	owner := metav1.GetControllerOfNoCopy(o)
	_, _, ok = apply.ParentOf(o, connectorKind.GroupKind())
	return owner, ok && owner != nil
}

// trim removes the parts of an object that the pack does not read, on the way into the cache. An
// object of another owner is cached too, with its metadata: the object may have a name that an
// IotConnector wants.
func trim(cached any) (any, error) {
	obj, ok := cached.(client.Object)
	if !ok {
		return cached, nil
	}
	small := apply.Trim(obj, func(manager string) bool { return manager == fieldOwner })
	_, ours := owned(obj)
	if name := connectorOf(obj); ours {
		small.Labels = foreignLabels(obj.GetLabels())
	} else if name != "" {
		small.Labels = map[string]string{connectorLabel: name}
	}
	switch o := cached.(type) {
	case *corev1.ServiceAccount:
		*o = corev1.ServiceAccount{ObjectMeta: small}
	case *unstructured.Unstructured:
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&small)
		if err != nil {
			return nil, fmt.Errorf("trim %s: %w", o.GetKind(), err)
		}
		o.Object = fields{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": content}
	case *appsv1.Deployment:
		if managesReplicas(o) {
			small.Annotations = map[string]string{asksForReplicas: ""}
		}
		kept := &appsv1.Deployment{ObjectMeta: small, Spec: appsv1.DeploymentSpec{Selector: o.Spec.Selector}}
		if ours {
			kept.Spec.Replicas, kept.Status = o.Spec.Replicas, o.Status
		}
		*o = *kept
	}
	return cached, nil
}

// managesReplicas reports whether fieldOwner manages spec.replicas of a Deployment.
func managesReplicas(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return apply.IsOwn(f, fieldOwner) && bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(`"f:replicas":`))
	})
}

// ownLabels are the labels that the pack sets on composed objects.
var ownLabels = []string{managedByLabel, connectorLabel, deploymentLabel, typeLabel, workloadIdentityUse}

// foreignLabels returns the labels that the pack does not set. Another client may block the
// deletion of an object with such a label, as a Usage does.
func foreignLabels(labels map[string]string) map[string]string {
	others := maps.Clone(labels)
	maps.DeleteFunc(others, func(key, _ string) bool { return slices.Contains(ownLabels, key) })
	if len(others) == 0 {
		return nil // The cache holds many objects.
	}
	return others
}
