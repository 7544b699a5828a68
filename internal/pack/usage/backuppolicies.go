package usage

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
)

// restoredObjects are the policies for objects of a backup, with --enforcement=policy. A
// restored Usage has an ownerReference with the UID of the former using object, and the garbage
// collector would delete the Usage for this ownerReference. A restored object has the lock even
// if no Usage protects the object, and then no user could delete the object. The policies
// remove both; the operator adds both again where they are right.
//
// An API server without MutatingAdmissionPolicy refuses such a Usage with a text that says what
// to do, and accepts the lock: sweep removes the lock at the operator's next start.
func restoredObjects(in pack.Installation) []client.Object {
	if in.MutatingPolicies {
		return append(dropOwners(in), dropLock(in)...)
	}
	return refuseOwners(in)
}

// formerOwner is the CEL expression for "the new ownerReference o names the object of spec.by,
// with any UID". The operator adds the ownerReference with the right UID.
func formerOwner(o string) string {
	group := func(of string) string {
		return fmt.Sprintf("(%[1]s.apiVersion.contains('/') ? %[1]s.apiVersion.split('/')[0] : '')", of)
	}
	return fmt.Sprintf("%[1]s.kind == object.spec.by.kind && "+
		"%[1]s.name == object.spec.by.?resourceRef.?name.orValue('') && "+
		"%[2]s == %[3]s && (oldObject == null || "+
		"!oldObject.metadata.?ownerReferences.orValue([]).exists(before, before.uid == %[1]s.uid))",
		o, group(o), group("object.spec.by"))
}

// hasFormerOwner is the CEL expression for "a Usage has an ownerReference that formerOwner
// matches".
func hasFormerOwner() string {
	return fmt.Sprintf("has(object.spec.by) && has(object.metadata.ownerReferences) && "+
		"object.metadata.ownerReferences.exists(o, %s)", formerOwner("o"))
}

// dropOwners is the MutatingAdmissionPolicy that removes the ownerReferences that formerOwner
// matches.
func dropOwners(in pack.Installation) []client.Object {
	kept := fmt.Sprintf(`object.metadata.ownerReferences.filter(o, !(%s)).map(o, {
  "apiVersion": o.apiVersion, "kind": o.kind, "name": o.name, "uid": o.uid,
  ?"controller": o.?controller, ?"blockOwnerDeletion": o.?blockOwnerDeletion})`, formerOwner("o"))
	conditions := append(in.NotTheOperator(), admissionregistrationv1.MatchCondition{
		Name: "has-a-former-owner", Expression: hasFormerOwner(),
	})
	return mutatingPolicy(ownersPolicy, pack.Match(writtenUsages()), conditions,
		fmt.Sprintf(`[JSONPatch{op: "replace", path: "/metadata/ownerReferences", value: %s}]`, kept))
}

// refuseOwners is the ValidatingAdmissionPolicy that refuses a Usage if hasFormerOwner is true.
func refuseOwners(in pack.Installation) []client.Object {
	return pack.ValidatingPolicy(ownersPolicy, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: pack.Match(writtenUsages()),
		MatchConditions:  in.NotTheOperator(),
		Validations: []admissionregistrationv1.Validation{pack.Forbid("!("+hasFormerOwner()+")",
			"Restored: the owner reference to the object of spec.by has the uid of the former object, for which "+
				"Kubernetes would delete the Usage: leave metadata.ownerReferences out, Kinship writes it",
		)},
	})
}

// dropLock is the MutatingAdmissionPolicy that removes a lock which a client other than the
// operator adds.
func dropLock(in pack.Installation) []client.Object {
	conditions := append(in.NotTheOperator(), admissionregistrationv1.MatchCondition{
		Name: "puts-the-lock-on", Expression: fmt.Sprintf(
			"has(object.metadata.labels) && object.metadata.labels[?%[1]q].orValue('') == %[2]q && (oldObject == null || "+
				"oldObject.metadata.?labels[?%[1]q].orValue('') != %[2]q)", lockLabel, lockValue),
	})
	written := matchLocked("*/*", admissionregistrationv1.Create, admissionregistrationv1.Update)
	return mutatingPolicy(locksPolicy, written, conditions,
		fmt.Sprintf(`[JSONPatch{op: "remove", path: "/metadata/labels/" + jsonpatch.escapeKey(%q)}]`, lockLabel))
}

// mutatingPolicy returns a policy that changes requests, with its binding.
func mutatingPolicy(
	name string, match *admissionregistrationv1.MatchResources,
	conditions []admissionregistrationv1.MatchCondition, change string,
) []client.Object {
	return []client.Object{
		&admissionregistrationv1.MutatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
				MatchConstraints: match, MatchConditions: conditions, FailurePolicy: new(admissionregistrationv1.Fail),
				ReinvocationPolicy: admissionregistrationv1.IfNeededReinvocationPolicy,
				Mutations: []admissionregistrationv1.Mutation{{
					PatchType: admissionregistrationv1.PatchTypeJSONPatch,
					JSONPatch: &admissionregistrationv1.JSONPatch{Expression: change},
				}},
			},
		},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
		},
	}
}
