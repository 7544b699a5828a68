package oam

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// shown is the part of a workload, a trait or a child that the stores of relation.Watcher keep.
type shown struct {
	metav1.PartialObjectMetadata

	// replicas is spec.replicas. isScalable is false if the object has no spec.replicas.
	replicas   int64
	isScalable bool
	health     condition.Health
}

// keep is the function of [relation.Watcher.Keep].
func keep(u *unstructured.Unstructured) client.Object {
	s := &shown{}
	s.APIVersion, s.Kind = u.GetAPIVersion(), u.GetKind()
	s.ObjectMeta = apply.Trim(u, func(manager string) bool { return strings.HasPrefix(manager, fieldOwner) })
	s.Labels = map[string]string{} // relation.Object has the labels.
	if generation, ok := u.GetAnnotations()[oamv1alpha2.AnnotationAppGeneration]; ok {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, oamv1alpha2.AnnotationAppGeneration, generation)
	}
	s.replicas, s.isScalable, _ = unstructured.NestedInt64(u.Object, "spec", "replicas")
	s.health = condition.HealthOf(u)
	return s
}

// shownOf returns the kept part of an object, or nil.
func shownOf(obj *relation.Object) *shown {
	if obj == nil || obj.Content == nil {
		return nil
	}
	return obj.Content.(*shown)
}

// isHealthChange reports whether a change of an object concerns the health of a HealthScope.
func isHealthChange(c relation.Change) bool {
	before, now := shownOf(c.Old), shownOf(c.New)
	return before == nil || now == nil || before.health != now.health
}

// isRelabelled reports whether the labels of an object have changed: traits and scopes select
// children by labels, and LabelWorkloadType of a workload may name its definition.
func isRelabelled(c relation.Change) bool {
	return c.Old != nil && c.New != nil && !maps.Equal(c.Old.Labels, c.New.Labels)
}
