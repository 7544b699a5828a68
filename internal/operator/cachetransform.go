package operator

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
)

// trim is a TransformFunc of the cache. trim drops fields that no controller reads, such as
// managedFields, and shares equal strings between objects. With 10,000 Usages, trim halves the
// memory of the cache.
func trim(packs []pack.Pack) toolscache.TransformFunc {
	return func(cached any) (any, error) { return trimOne(packs, cached) }
}

func trimOne(packs []pack.Pack, cached any) (any, error) {
	obj, ok := cached.(metav1.Object)
	if !ok {
		return cached, nil
	}
	obj.SetManagedFields(nil)
	obj.SetNamespace(object.Share(obj.GetNamespace()))
	finalizers := obj.GetFinalizers()
	for i := range finalizers {
		finalizers[i] = object.Share(finalizers[i])
	}
	owners := obj.GetOwnerReferences()
	for i := range owners {
		owners[i].APIVersion, owners[i].Kind = object.Share(owners[i].APIVersion), object.Share(owners[i].Kind)
	}
	obj.SetLabels(object.ShareMap(obj.GetLabels()))
	// pack.Trim may share the annotations of an object by object.ShareMap, and a shared map MUST
	// NOT be written. So delete runs only while LastAppliedConfigAnnotation is there: an object
	// that is trimmed again is not written.
	if annotations := obj.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
	}
	for _, p := range packs {
		if p.Trim != nil {
			p.Trim(obj)
		}
	}
	return cached, nil
}
