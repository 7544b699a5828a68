package reconcile

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UnjudgedAnnotation is on objects that somebody wrote while no guard judged the author's
// rights. A policy lets only the operator and administrators take the annotation off.
const UnjudgedAnnotation = "kinship.dev/unjudged"

// IsUnjudged reports whether an object has to be looked at by an administrator first.
func IsUnjudged(obj metav1.Object) bool {
	_, unjudged := obj.GetAnnotations()[UnjudgedAnnotation]
	return unjudged
}

// Judged refuses to act on an object that nobody has judged. Done means that the object was
// judged.
func Judged(reason string, obj metav1.Object) Outcome {
	if !IsUnjudged(obj) {
		return Outcome{}
	}
	return Refuse(reason, "Unjudged: spec or status was written while the policies and webhooks that judge it were not "+
		"in force. Nothing is done, deletion included, until an administrator has looked at it and removed annotation %s",
		UnjudgedAnnotation)
}
