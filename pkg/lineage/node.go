package lineage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Status says how an object fares, in the words of kstatus.
type Status string

// The words of kstatus.
const (
	// Current means that the object is as its spec asks for.
	Current Status = "Current"
	// InProgress means that it is on the way there.
	InProgress Status = "InProgress"
	// Failed means that it will not get there by itself.
	Failed Status = "Failed"
	// Terminating means that it is being deleted.
	Terminating Status = "Terminating"
	// NotFound means that there is no such object.
	NotFound Status = "NotFound"
	// Unknown means that its status was not read, or could not be.
	Unknown Status = "Unknown"
)

// Node is one object, or the place where others say that there is one.
type Node struct {
	ID         object.ID
	UID        types.UID
	Created    time.Time
	Deleted    *time.Time // when its deletion began
	Finalizers []string
	Owners     []metav1.OwnerReference
	Labels     map[string]string
	// Status and Message are known of the nodes of an answer.
	Status  Status
	Message string
	// Conditions are those of its status, as far as they have the usual form.
	Conditions []metav1.Condition

	full *unstructured.Unstructured // when it was read
}

// newNode returns a node of an object's metadata.
func newNode(gk schema.GroupKind, obj metav1.Object) *Node {
	n := &Node{
		ID:         object.Of(obj, gk),
		UID:        obj.GetUID(),
		Created:    obj.GetCreationTimestamp().Time,
		Finalizers: obj.GetFinalizers(),
		Owners:     obj.GetOwnerReferences(),
		Labels:     obj.GetLabels(),
		Status:     Unknown,
	}
	if at := obj.GetDeletionTimestamp(); at != nil {
		// The timestamp is the end of the grace period, not the request.
		begun := at.Time
		if grace := obj.GetDeletionGracePeriodSeconds(); grace != nil {
			begun = begun.Add(-time.Duration(*grace) * time.Second)
		}
		n.Deleted, n.Status = &begun, Terminating
	}
	return n
}

// take completes a node with the whole object.
func (n *Node) take(obj *unstructured.Unstructured) {
	*n = *newNode(n.ID.GroupKind(), obj)
	n.full = obj
	n.Conditions = conditionsOf(obj)
	n.Conditions = append(n.Conditions, recordedDrift(obj, n.Conditions)...)
	result, err := status.Compute(obj)
	if err != nil {
		n.Message = err.Error()
		return
	}
	n.Status, n.Message = Status(result.Status), result.Message
	if health, message, known := externalHealth(n.Conditions, obj.GetGeneration()); known && n.Status != Terminating {
		n.Status, n.Message = health, message
	}
	if c, failing := failingCondition(n); n.Status == Current && failing {
		n.Status, n.Message = InProgress, say(c)
	}
}

// judgedByKstatus are the groups whose kinds kstatus knows, with what their conditions mean.
var judgedByKstatus = []string{"", "apps", "batch", "policy", "apiextensions.k8s.io"}

// failingCondition returns the condition by which an object says that it does not serve. Of
// kinds that kstatus does not know, it reads Ready and few others, and calls all else Current.
// An example is an APIService whose server does not answer: its Available is False.
func failingCondition(n *Node) (metav1.Condition, bool) {
	if slices.Contains(judgedByKstatus, n.ID.Group) {
		return metav1.Condition{}, false
	}
	good := []string{"Available", "Healthy", "Synced", "Accepted", "Programmed", "ResolvedRefs", "Established"}
	i := slices.IndexFunc(n.Conditions, func(c metav1.Condition) bool {
		return slices.Contains(good, c.Type) && c.Status == metav1.ConditionFalse
	})
	if i < 0 {
		return metav1.Condition{}, false
	}
	return n.Conditions[i], true
}

// missing says that there is no such object.
func (n *Node) missing(message string) {
	n.Status, n.Message, n.UID = NotFound, message, ""
}

// object returns what relations need to know of a node.
func (n *Node) object() relation.Object {
	o := relation.Object{ID: n.ID, UID: n.UID, Labels: n.Labels, Deleting: n.Deleted != nil}
	if i := slices.IndexFunc(n.Owners, controls); i >= 0 {
		o.Controller = n.Owners[i].UID
	}
	return o
}

func controls(o metav1.OwnerReference) bool { return o.Controller != nil && *o.Controller }

// conditionsOf reads conditions of the usual form. Others are left out: what is
// not a condition to Kubernetes is none to us.
func conditionsOf(obj *unstructured.Unstructured) []metav1.Condition {
	items, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return nil
	}
	var conditions []metav1.Condition
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(field string) string {
			value, _ := fields[field].(string) // Another type reads as nothing.
			return value
		}
		c := metav1.Condition{
			Type: text("type"), Status: metav1.ConditionStatus(text("status")),
			Reason: text("reason"), Message: text("message"),
		}
		c.ObservedGeneration, _ = fields["observedGeneration"].(int64)
		if at, err := time.Parse(time.RFC3339, text("lastTransitionTime")); err == nil {
			c.LastTransitionTime = metav1.NewTime(at)
		}
		if c.Type != "" {
			conditions = append(conditions, c)
		}
	}
	return conditions
}

// say returns a condition for people, or several of one reason and message.
func say(conditions ...metav1.Condition) string {
	c := conditions[0]
	statuses := make([]string, 0, len(conditions))
	for _, c := range conditions {
		statuses = append(statuses, fmt.Sprintf("%s is %s", c.Type, c.Status))
	}
	text := strings.Join(statuses, ", ")
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	if c.Message != "" {
		text += ": " + strings.ReplaceAll(c.Message, "\n", "; ")
	}
	return text
}

// compareNodes orders by kind, namespace and name, which is how people look for
// them.
func compareNodes(a, b *Node) int { return compareIDs(a.ID, b.ID) }

func compareIDs(a, b object.ID) int {
	return cmp.Or(
		strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Group, b.Group),
	)
}
