package pack

import (
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// KeepsSpec reports whether an update leaves spec as it was. A webhook that judges specs allows such an update: an
// object that an earlier release accepted must get rid of its finalizers, or the object could never be deleted.
func KeepsSpec(req admission.Request) bool {
	old, now, ok := states(req)
	return ok && equality.Semantic.DeepEqual(old.Object["spec"], now.Object["spec"])
}

// OnlyReleases reports whether an update does nothing but remove finalizers and owner references. The garbage collector
// writes so after `kubectl delete --cascade=orphan`. A webhook that keeps an object from users allows the garbage
// collector to do so, or neither the object nor its owner could be deleted. The garbage collector also writes
// blockOwnerDeletion.
func OnlyReleases(req admission.Request) bool {
	old, now, ok := states(req)
	if !ok || !isSubset(now.GetFinalizers(), old.GetFinalizers()) || !isSubset(owners(now), owners(old)) {
		return false
	}
	for _, state := range []*unstructured.Unstructured{old, now} {
		state.SetFinalizers(nil)
		state.SetOwnerReferences(nil)
		state.SetManagedFields(nil)
		state.SetResourceVersion("")
	}
	return equality.Semantic.DeepEqual(old.Object, now.Object)
}

// states returns the object of an update, as it was and as it becomes. ok is false for other requests.
func states(req admission.Request) (old, now *unstructured.Unstructured, ok bool) {
	old, now = &unstructured.Unstructured{}, &unstructured.Unstructured{}
	ok = req.Operation == admissionv1.Update &&
		json.Unmarshal(req.OldObject.Raw, &old.Object) == nil && json.Unmarshal(req.Object.Raw, &now.Object) == nil
	return old, now, ok
}

func owners(obj *unstructured.Unstructured) []metav1.OwnerReference {
	all := obj.GetOwnerReferences()
	for i := range all {
		all[i].BlockOwnerDeletion = nil
	}
	return all
}

func isSubset[T any](part, whole []T) bool {
	return !slices.ContainsFunc(part, func(one T) bool {
		return !slices.ContainsFunc(whole, func(other T) bool { return equality.Semantic.DeepEqual(one, other) })
	})
}
