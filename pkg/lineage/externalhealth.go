package lineage

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/pkg/condition"
)

// externalReasons are the reasons that Progressing has on objects whose resource lives
// outside Kubernetes. A Deployment has a Progressing condition too, with other reasons.
var externalReasons = []string{
	condition.ReasonSuccess, condition.ReasonProgressing, condition.ReasonTransientError,
	condition.ReasonInvalidConfiguration, condition.ReasonUnrecoverableError,
}

// externalHealth returns the status of an object that has the conditions Available and
// Progressing and no Ready, such as a Network of OpenStack. kstatus calls each of them
// Current, because it knows no Available. known is false for all other objects.
func externalHealth(list []metav1.Condition, generation int64) (s Status, message string, known bool) {
	progressing := meta.FindStatusCondition(list, condition.Progressing)
	if progressing == nil || meta.FindStatusCondition(list, condition.Ready) != nil ||
		!slices.Contains(externalReasons, progressing.Reason) {
		return "", "", false
	}
	switch {
	case progressing.ObservedGeneration != generation:
		return InProgress, "the operator has not seen the latest change of the spec", true
	case progressing.Status == metav1.ConditionTrue:
		return InProgress, progressing.Message, true
	case progressing.Reason != condition.ReasonSuccess:
		return Failed, progressing.Message, true
	case !meta.IsStatusConditionTrue(list, condition.Available):
		return InProgress, progressing.Message, true
	}
	return Current, progressing.Message, true
}

// recordedDrift returns the condition Drifted of an object that only lists its drift in
// status.drift, because its API has no such condition.
func recordedDrift(obj *unstructured.Unstructured, list []metav1.Condition) []metav1.Condition {
	drift, _, err := unstructured.NestedStringSlice(obj.Object, "status", "drift")
	if err != nil || len(drift) == 0 || meta.FindStatusCondition(list, condition.Progressing) == nil ||
		meta.FindStatusCondition(list, conditionDrifted) != nil {
		return nil
	}
	return []metav1.Condition{{
		Type: conditionDrifted, Status: metav1.ConditionTrue, Reason: condition.ReasonImmutable,
		Message: condition.DriftMessage("its resource", drift),
	}}
}
