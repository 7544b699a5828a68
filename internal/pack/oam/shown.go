package oam

import (
	"maps"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// shown is the part of a workload, a trait or a child that the stores keep.
type shown struct {
	metav1.PartialObjectMetadata

	// replicas is spec.replicas. isScalable is false if the object has no such number.
	replicas   int64
	isScalable bool
	// state and diagnosis are the result of kstatus. isJudged is false if kstatus has no rule for
	// the kind, and the object has no condition Ready either.
	state     status.Status
	diagnosis string
	isJudged  bool
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
	s.isJudged = isJudged(u)
	result, err := status.Compute(u)
	if err != nil {
		s.state, s.diagnosis = status.UnknownStatus, err.Error()
		return s
	}
	s.state, s.diagnosis = result.Status, result.Message
	return s
}

// isJudged reports whether kstatus can tell the state of an object.
func isJudged(u *unstructured.Unstructured) bool {
	if status.GetLegacyConditionsFn(u) != nil {
		return true
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == "Ready" {
			return true
		}
	}
	return false
}

// shownOf returns the kept part of an object, or nil.
func shownOf(obj *relation.Object) *shown {
	if obj == nil || obj.Content == nil {
		return nil
	}
	return obj.Content.(*shown)
}

// isHealthChange reports whether a change of an object concerns the health of a scope.
func isHealthChange(c relation.Change) bool {
	before, now := shownOf(c.Old), shownOf(c.New)
	return before == nil || now == nil || before.state != now.state || before.diagnosis != now.diagnosis ||
		before.isJudged != now.isJudged
}

// isRelabelled reports whether the labels of an object have changed: traits and scopes choose children by
// labels, and a label of a workload may name its definition.
func isRelabelled(c relation.Change) bool {
	return c.Old != nil && c.New != nil && !maps.Equal(c.Old.Labels, c.New.Labels)
}
