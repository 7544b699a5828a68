// Package v1alpha1 holds the types that more than one API group of Kinship is
// made of: what a Usage says and what is known of it, and the words that
// conditions speak in.
//
// It is a vocabulary, not an API group: nothing here is served by itself. A
// type belongs here once two groups need it and not before.
//
// +kubebuilder:object:generate=true
package v1alpha1
