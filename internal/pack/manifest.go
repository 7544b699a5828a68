package pack

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Manifest returns an object in the form in which a server-side apply sends the object.
func Manifest(scheme *runtime.Scheme, obj client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return nil, fmt.Errorf("identify %s: %w", obj.GetName(), err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(withScopes(obj))
	if err != nil {
		return nil, fmt.Errorf("convert %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	if _, aggregated := u.Object["aggregationRule"]; aggregated {
		delete(u.Object, "rules") // A controller of Kubernetes writes the rules.
	}
	return u, nil
}

// withScopes returns a copy of an object in which the rules of webhooks have their default
// scope. The rules of a webhook are one atomic field: without the scope, applying the same
// configuration twice would count as a change, and write the object anew.
func withScopes(obj client.Object) client.Object {
	obj = obj.DeepCopyObject().(client.Object)
	for _, h := range hooksOf(obj) {
		for i := range *h.rules {
			setDefault(&(*h.rules)[i].Scope, admissionregistrationv1.AllScopes)
		}
	}
	return obj
}
