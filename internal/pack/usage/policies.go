package usage

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
)

// keepLock are the policies that keep users from removing the lock. A MutatingAdmissionPolicy
// adds the label again, so that clients that write whole objects are not refused; on an older
// API server, a ValidatingAdmissionPolicy refuses the request. Requests for a subresource such
// as status can remove labels, too.
func keepLock(in pack.Installation) []client.Object {
	removes := unlocks(in.Operators)
	if in.MutatingPolicies {
		add := fmt.Sprintf(`has(object.metadata.labels)
  ? [JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey(%[1]q), value: %[2]q}]
  : [JSONPatch{op: "add", path: "/metadata/labels", value: {%[1]q: %[2]q}}]`, lockLabel, lockValue)
		return mutatingPolicy(keepPolicy, matchLocked("*/*", admissionregistrationv1.Update),
			[]admissionregistrationv1.MatchCondition{{Name: "takes-the-lock-off", Expression: removes}}, add)
	}
	return pack.ValidatingPolicy(keepPolicy, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: matchLocked("*/*", admissionregistrationv1.Update),
		Validations: []admissionregistrationv1.Validation{pack.Forbid("!("+removes+")",
			fmt.Sprintf("label %s says that the object is in use; Kinship removes it when no Usage needs the object: "+
				"run kubectl kinship who-uses", lockLabel),
		)},
	})
}

// unlocks is the CEL expression for "a client other than the operator removes the lock".
func unlocks(operators pack.Operators) string {
	locked := func(o string) string {
		labels := o + ".metadata.labels"
		return fmt.Sprintf("(has(%[1]s) && %[2]q in %[1]s && %[1]s[%[2]q] == %[3]q)", labels, lockLabel, lockValue)
	}
	return fmt.Sprintf("%s && !%s && %s", locked("oldObject"), locked("object"), operators.DoNotAsk())
}

// matchLocked selects requests about locked objects of every kind. Resource "*/*" includes
// subresources.
func matchLocked(
	resource string, operations ...admissionregistrationv1.OperationType,
) *admissionregistrationv1.MatchResources {
	match := pack.Match(admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{resource},
			Scope: new(admissionregistrationv1.AllScopes),
		},
	})
	match.ObjectSelector = lockSelector()
	return match
}

// refuseByPolicy is the ValidatingAdmissionPolicy that refuses the deletion of locked objects
// without a webhook. A user with the verb override on all Usages who sets annotation
// kinship.dev/override-usage is not refused. The answer of a policy can only be 403 or 422.
func refuseByPolicy() []client.Object {
	match := matchLocked("*", admissionregistrationv1.Delete)
	match.NamespaceSelector, match.MatchPolicy = &metav1.LabelSelector{}, new(admissionregistrationv1.Equivalent)
	return pack.ValidatingPolicy(refusePolicy, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: match,
		Validations:      refuseUnlessOverridden(),
	})
}

const refusedByPolicy = "The resource is in use or protected by a Usage: run kubectl kinship who-uses to see by which."

// keepRecords is the ValidatingAdmissionPolicy that lets only the operator write the statuses
// of Usages, and annotation kinship.dev/authority. With --enforcement=webhook the operator
// relies on both: a deletion in status.refused is replayed for the recorded user, and the
// protection ends with the object in status.using.
func keepRecords(in pack.Installation) []client.Object {
	mark := func(o string) string {
		return fmt.Sprintf("has(%[1]s.metadata.annotations) && %[2]q in %[1]s.metadata.annotations ? "+
			"%[1]s.metadata.annotations[%[2]q] : ''", o, authorityAnnotation)
	}
	return pack.ValidatingPolicy(recordsPolicy, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: pack.Match(writtenWithStatus()),
		MatchConditions:  in.NotTheOperator(),
		Variables: []admissionregistrationv1.Variable{
			{Name: "mark", Expression: mark("object")},
			{Name: "before", Expression: "oldObject == null ? '' : (" + mark("oldObject") + ")"},
		},
		Validations: []admissionregistrationv1.Validation{
			pack.Forbid("variables.mark == '' || (variables.mark == variables.before && object.spec == oldObject.spec)",
				"only Kinship sets annotation "+authorityAnnotation+": remove it"),
			pack.Forbid("!has(request.subResource) || request.subResource != 'status'", statusRefused),
		},
	})
}

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
