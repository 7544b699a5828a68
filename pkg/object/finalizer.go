package object

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Finalizer is a name in metadata.finalizers that a controller adds and removes.
type Finalizer struct {
	// Name is the name that the controller adds. Name has a path, such as usage.kinship.dev/in-use: the API server warns
	// whoever creates an object with another name.
	Name string
	// Former are the names that former releases added. An object with such a name keeps the name until the end.
	Former []string
}

// Is reports whether a name in metadata.finalizers is the Finalizer.
func (f Finalizer) Is(name string) bool { return name == f.Name || slices.Contains(f.Former, name) }

// On reports whether an object has the Finalizer.
func (f Finalizer) On(obj metav1.Object) bool { return slices.ContainsFunc(obj.GetFinalizers(), f.Is) }

// Add adds the Finalizer to an object that does not have the Finalizer.
func (f Finalizer) Add(obj metav1.Object) {
	if !f.On(obj) {
		obj.SetFinalizers(append(slices.Clone(obj.GetFinalizers()), f.Name))
	}
}

// Remove removes the Finalizer, under every name, and reports whether the object had the Finalizer.
func (f Finalizer) Remove(obj metav1.Object) bool {
	if !f.On(obj) {
		return false
	}
	obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), f.Is))
	return true
}
