package lineage

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
)

// conditionEffective is True on a Usage that is enforced.
const conditionEffective = "Effective"

// conditionsOf returns the entries of status.conditions that have the form of
// metav1.Condition and a type.
func conditionsOf(obj *unstructured.Unstructured) []metav1.Condition {
	items, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions") // None if status has another form.
	var conditions []metav1.Condition
	for _, item := range items {
		var c metav1.Condition
		fields, ok := item.(map[string]any)
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil && c.Type != "" {
			conditions = append(conditions, c)
		}
	}
	return conditions
}

// describe returns the text of conditions that share a reason and a message, such as
// "Available is False, Ready is False (Waiting): waiting for Secret/cloud".
func describe(conditions ...metav1.Condition) string {
	c := conditions[0]
	text := strings.Join(lists.Map(conditions, func(c metav1.Condition) string {
		return fmt.Sprintf("%s is %s", c.Type, c.Status)
	}), ", ")
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	if c.Message != "" {
		text += ": " + strings.ReplaceAll(c.Message, "\n", "; ")
	}
	return text
}

// knownToKstatus are the API groups whose conditions kstatus evaluates.
var knownToKstatus = []string{"", "apps", "batch", "policy", "apiextensions.k8s.io"}

// failingCondition returns a condition with status False that makes an object unusable.
// For kinds unknown to kstatus, status.Compute reads Ready and few other conditions and
// returns Current otherwise. An example is an APIService with Available=False.
func failingCondition(n *Node) (metav1.Condition, bool) {
	good := []string{"Available", "Healthy", "Synced", "Accepted", "Programmed", "ResolvedRefs", "Established"}
	i := slices.IndexFunc(n.Conditions, func(c metav1.Condition) bool {
		return slices.Contains(good, c.Type) && c.Status == metav1.ConditionFalse
	})
	if i < 0 || slices.Contains(knownToKstatus, n.ID.Group) {
		return metav1.Condition{}, false
	}
	return n.Conditions[i], true
}

// isBad reports whether a condition reports a problem. Most conditions report a problem
// unless True; conditions such as Stalled report a problem if True.
func isBad(c metav1.Condition) bool {
	switch c.Type {
	case "Stalled", "Reconciling", "Failed", "FailureTarget", "ReplicaFailure", "Degraded", "DisruptionTarget",
		"NetworkUnavailable", "Terminating", "NonStructuralSchema", condition.Drifted:
		return c.Status == metav1.ConditionTrue
	case "Suspended":
		return false
	case condition.Progressing:
		if slices.Contains(externalReasons, c.Reason) {
			return c.Reason != condition.ReasonSuccess
		}
	}
	// NamespaceContentRemaining of a Namespace and MemoryPressure of a Node are bad if True.
	if strings.HasPrefix(c.Type, "Namespace") || strings.HasSuffix(c.Type, "Pressure") {
		return c.Status == metav1.ConditionTrue
	}
	return c.Status != metav1.ConditionTrue
}

// externalReasons are the reasons of Progressing on objects of pkg/external. Progressing
// of a Deployment has other reasons.
var externalReasons = []string{
	condition.ReasonSuccess, condition.ReasonProgressing, condition.ReasonTransientError,
	condition.ReasonInvalidConfiguration, condition.ReasonUnrecoverableError,
}

// externalHealth returns the status of an object with the conditions Available and
// Progressing and without Ready, such as a Network of OpenStack. status.Compute returns
// Current for all of these objects. For other objects, known is false.
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

// recordedDrift returns a condition Drifted for an object with a drift in status.drift.
// The API of openstack.k-orc.cloud has that list and no condition Drifted.
func recordedDrift(obj *unstructured.Unstructured, list []metav1.Condition) []metav1.Condition {
	drift, _, err := unstructured.NestedStringSlice(obj.Object, "status", "drift")
	if err != nil || len(drift) == 0 || meta.FindStatusCondition(list, condition.Progressing) == nil ||
		meta.FindStatusCondition(list, condition.Drifted) != nil {
		return nil
	}
	return []metav1.Condition{{
		Type: condition.Drifted, Status: metav1.ConditionTrue, Reason: condition.ReasonImmutable,
		Message: condition.DriftMessage("its resource", drift),
	}}
}

// conditionFindings returns a [Finding] for each group of bad conditions that share a
// reason and a message. A condition whose message names only objects in told is left
// out, because other findings name these objects.
func conditionFindings(n *Node, conditions []metav1.Condition, told ...object.ID) []*Finding {
	var groups [][]metav1.Condition
	for _, c := range conditions {
		if !isBad(c) || namesOnly(c.Message, told) {
			continue
		}
		i := slices.IndexFunc(groups, func(g []metav1.Condition) bool {
			return c.Message != "" && g[0].Reason == c.Reason && g[0].Message == c.Message
		})
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return lists.Map(groups, func(g []metav1.Condition) *Finding {
		reporter := cmp.Or(manager(n, `k:{\"type\":\"`+g[0].Type+`\"}`),
			fmt.Sprintf("the controller of %s objects", n.ID.GroupKind()))
		return &Finding{
			About: n.ID, Topic: aboutCondition, Text: describe(g...),
			Next: fmt.Sprintf("resolve what %s reports about %s: %s", reporter, n.ID, describe(g...)),
		}
	})
}

// onlyDrifted returns the conditions Drifted: an object with Drifted=True is usable.
func onlyDrifted(conditions []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool {
		return c.Type != condition.Drifted
	})
}

// namesOnly reports whether each line of a message names one of some objects.
func namesOnly(message string, ids []object.ID) bool {
	for line := range strings.Lines(message) {
		if !slices.ContainsFunc(ids, func(id object.ID) bool { return namesObject(line, id) }) {
			return false
		}
	}
	return message != ""
}

// namesObject reports whether a word of a message is the kind and name of an object, such
// as "Secret/cloud".
func namesObject(message string, id object.ID) bool {
	return slices.ContainsFunc(strings.Fields(message), func(word string) bool {
		return strings.Trim(word, `,;:."'()`) == id.Short()
	})
}

// finalizerManager returns the field manager that added a finalizer.
func finalizerManager(n *Node, finalizer string) string {
	quoted := strconv.Quote(finalizer)
	return manager(n, `v:\`+quoted[:len(quoted)-1]+`\"`)
}

// manager returns the last field manager in metadata.managedFields that owns a key, such
// as `k:{\"type\":\"Ready\"}`.
func manager(n *Node, key string) string {
	if n.full == nil {
		return ""
	}
	var last metav1.ManagedFieldsEntry
	for _, entry := range n.full.GetManagedFields() {
		if entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(key)) {
			last = entry
		}
	}
	return last.Manager
}
