package dataflow

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Node is an object that gives or gets values.
type Node struct {
	// Object is the object that the operator is about to apply. [Flow.Run] writes the values of
	// Inputs into Object.
	Object  *unstructured.Unstructured
	Outputs []Output
	Inputs  []Input
}

// Output is a value of a [Node]'s object.
type Output struct {
	// Field is the field in which the user wrote the Output, for errors.
	Field string
	// Name is the Input.Output of each [Input] that gets the value. An Output without Name is only
	// for Output.Store.
	Name string
	// FieldPath is the path of the value.
	FieldPath string
	// Conditions must hold before the value is passed. Without a [Condition], an empty string is
	// not passed.
	Conditions []Condition
	// Store is an object that [Flow.Run] makes from Node.Object. Store may be nil.
	Store *Store
}

// Input writes a value into fields of a [Node]'s object.
type Input struct {
	// Field is the field in which the user wrote the Input, for errors.
	Field string
	// Output is the name of the [Output]. An Input with a Store may have an empty Output.
	Output string
	// ToFieldPaths are the paths of the fields. A value is appended to a field that holds a list.
	ToFieldPaths []string
	// Conditions must hold for the object of the [Node] in the cluster. If the object does not
	// exist, all Conditions hold.
	Conditions []Condition
	// Store is an object whose values are written into Node.Object. Store may be nil.
	Store *Store
}

// Store is an object beside the objects of the nodes, in their namespace, such as a ConfigMap.
type Store struct {
	schema.GroupVersionKind

	Name string
	// Operations make the content: for Output.Store, from Node.Object; for Input.Store, the
	// Operations change Node.Object with values of the Store.
	Operations []Operation
}

// in returns the [Store] as an object without content.
func (s *Store) in(namespace string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(s.GroupVersionKind)
	u.SetName(s.Name)
	u.SetNamespace(namespace)
	return u
}

func idOf(u *unstructured.Unstructured) object.ID {
	return object.Of(u, u.GroupVersionKind().GroupKind())
}

// Sources returns the object of each Input.Store of the node.
func (n Node) Sources() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, in := range n.Inputs {
		if in.Store != nil {
			all = append(all, in.Store.in(n.Object.GetNamespace()))
		}
	}
	return all
}

// Reads returns the kinds of the objects that [Flow.Run] reads for the node: Node.Object, if the
// node has Outputs, and each Input.Store.
func (n Node) Reads() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	if len(n.Outputs) > 0 {
		kinds = append(kinds, n.Object.GroupVersionKind())
	}
	for _, source := range n.Sources() {
		kinds = append(kinds, source.GroupVersionKind())
	}
	return kinds
}

// Creates returns the kinds of each Output.Store of the node.
func (n Node) Creates() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, out := range n.Outputs {
		if out.Store != nil {
			kinds = append(kinds, out.Store.GroupVersionKind)
		}
	}
	return kinds
}
