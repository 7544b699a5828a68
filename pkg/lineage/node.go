package lineage

import (
	"cmp"
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

// Status is the status of an object, as returned by status.Compute().
type Status string

// The statuses of kstatus.
const (
	// Current means that the object is as its spec asks.
	Current Status = "Current"
	// InProgress means that a controller is changing the object to match its spec.
	InProgress Status = "InProgress"
	// Failed means that the object will not match its spec without a change.
	Failed Status = "Failed"
	// Terminating means that the object has a deletionTimestamp.
	Terminating Status = "Terminating"
	// NotFound means that the object does not exist.
	NotFound Status = "NotFound"
	// Unknown means that the status was not read, or could not be read.
	Unknown Status = "Unknown"
)

// Node is one object, or an ID that another object refers to.
type Node struct {
	ID         object.ID
	UID        types.UID
	Created    time.Time
	Deleted    *time.Time // when the deletion was requested
	Finalizers []string
	Owners     []metav1.OwnerReference
	Labels     map[string]string
	// Status and Message are set on the nodes of an answer.
	Status  Status
	Message string
	// Conditions are the entries of status.conditions that have a type.
	Conditions []metav1.Condition

	full     *unstructured.Unstructured // nil unless the whole object was read
	unserved bool                       // because the cluster serves no such kind
}

// newNode returns the [Node] of an object's metadata.
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
		// deletionTimestamp is the end of the grace period, for example 30 s after the request.
		begun := at.Time
		if grace := obj.GetDeletionGracePeriodSeconds(); grace != nil {
			begun = begun.Add(-time.Duration(*grace) * time.Second)
		}
		n.Deleted, n.Status = &begun, Terminating
	}
	return n
}

// replaced returns the [Node] of a deleted object whose name another object has now.
func replaced(id object.ID, uid types.UID) *Node {
	return &Node{ID: id, UID: uid, Status: NotFound, Message: "gone; there is another object of that name now"}
}

// setObject sets all fields of a [Node] from the whole object.
func (n *Node) setObject(obj *unstructured.Unstructured) {
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
		n.Status, n.Message = InProgress, describe(c)
	}
}

// setExisting sets the status of an object whose kind has no status.
func (n *Node) setExisting() {
	if n.Deleted == nil {
		n.Status = Current
	}
}

// setMissing sets the status of an object that does not exist.
func (n *Node) setMissing(message string) {
	n.Status, n.Message, n.UID = NotFound, message, ""
}

// object returns the [relation.Object] of a [Node].
func (n *Node) object() relation.Object {
	o := relation.Object{ID: n.ID, UID: n.UID, Labels: n.Labels, Deleting: n.Deleted != nil}
	if i := slices.IndexFunc(n.Owners, isController); i >= 0 {
		o.Controller = n.Owners[i].UID
	}
	return o
}

// isOwnedBy reports whether an owner reference of the node has the uid of the owner.
func (n *Node) isOwnedBy(owner *Node) bool {
	return owner.UID != "" && slices.ContainsFunc(n.Owners, sameUID(owner.UID))
}

// text returns a string field of the whole object, or "".
func (n *Node) text(fields ...string) string {
	if n.full == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(n.full.Object, fields...) // "" if the field has another type.
	return value
}

func isController(o metav1.OwnerReference) bool { return o.Controller != nil && *o.Controller }

func sameUID(uid types.UID) func(metav1.OwnerReference) bool {
	return func(o metav1.OwnerReference) bool { return o.UID == uid }
}

// compareNodes orders by kind, namespace, name and group, in which order people look for objects.
func compareNodes(a, b *Node) int {
	return cmp.Or(
		strings.Compare(a.ID.Kind, b.ID.Kind), strings.Compare(a.ID.Namespace, b.ID.Namespace),
		strings.Compare(a.ID.Name, b.ID.Name), strings.Compare(a.ID.Group, b.ID.Group),
	)
}
