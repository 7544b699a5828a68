package dataflow

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Node is an object that gives or takes values.
type Node struct {
	// Object is the object as it is to be applied. [Flow.Run] writes the values of Inputs into Object.
	Object  *unstructured.Unstructured
	Outputs []Output
	Inputs  []Input
}

// Output is a value of a [Node]'s object.
type Output struct {
	// Field is where the user wrote the Output, for errors.
	Field string
	// Name is the name by which an [Input] takes the value. An Output without Name is for a Store alone.
	Name string
	// FieldPath leads to the value.
	FieldPath string
	// Conditions must hold before the value is passed. Without a Condition, an empty string is not passed.
	Conditions []Condition
	// Store is an object that is made from the object of the Node. Store may be nil.
	Store *Store
}

// Input writes a value into fields of a [Node]'s object.
type Input struct {
	// Field is where the user wrote the Input, for errors.
	Field string
	// Output is the name of the [Output]. An Input with a Store need not have an Output.
	Output string
	// ToFieldPaths lead to the fields. A value is appended to a field that holds a list.
	ToFieldPaths []string
	// Conditions must hold for the object of the Node as the cluster has it. An object that does not exist
	// meets all of them.
	Conditions []Condition
	// Store is an object whose values are written into the object of the Node. Store may be nil.
	Store *Store
}

// Store is an object beside the objects of the nodes, in their namespace, such as a ConfigMap.
type Store struct {
	schema.GroupVersionKind

	Name string
	// Operations make the content: of an [Output]'s Store from the object of the [Node], and of an [Input]'s
	// object from the Store.
	Operations []Operation
}

// in returns the store as an object without content.
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

// Sources are the stores that the inputs of the node are read from.
func (n Node) Sources() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, in := range n.Inputs {
		if in.Store != nil {
			all = append(all, in.Store.in(n.Object.GetNamespace()))
		}
	}
	return all
}

// Reads returns the kinds of the objects that are read for the node: of its own object, if the node has
// outputs, and of the stores of its inputs.
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

// Creates returns the kinds of the stores of the node's outputs.
func (n Node) Creates() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, out := range n.Outputs {
		if out.Store != nil {
			kinds = append(kinds, out.Store.GroupVersionKind)
		}
	}
	return kinds
}
