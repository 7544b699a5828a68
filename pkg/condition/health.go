package condition

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Health is the state of an object of any kind, as kstatus computes it from the object.
type Health struct {
	Status  status.Status
	Message string
	// IsJudged says that Status means something: kstatus has a rule for the kind, or the object has the
	// condition Ready. Of any other object kstatus says that it is Current.
	IsJudged bool
}

// HealthOf returns the Health of an object.
func HealthOf(u *unstructured.Unstructured) Health {
	h := Health{IsJudged: isJudged(u)}
	result, err := status.Compute(u)
	if err != nil {
		h.Status, h.Message = status.UnknownStatus, err.Error()
		return h
	}
	h.Status, h.Message = result.Status, result.Message
	return h
}

func isJudged(u *unstructured.Unstructured) bool {
	if status.GetLegacyConditionsFn(u) != nil {
		return true
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == Ready {
			return true
		}
	}
	return false
}
