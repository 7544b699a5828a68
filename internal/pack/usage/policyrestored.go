package usage

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
)

// restoredObjects are the policies for objects of a backup, where no webhook is asked. Such an
// object has what belonged to the former object: a Usage has an owner reference with a former
// uid, for which the garbage collector deletes the Usage, and an object has the lock although
// nothing may use the object any more, and then nobody could delete the object. The operator
// writes both again where they are right.
//
// An API server that can't change requests by itself refuses such a Usage with a text that says
// what to do. That API server takes the lock, which the operator's next start takes off.
func restoredObjects(in pack.Installation) []client.Object {
	if in.MutatingPolicies {
		return append(dropOwners(in), dropLock(in)...)
	}
	return refuseOwners(in)
}

// formerOwner is the CEL expression for "the owner reference o names what spec.by names, and is
// not there yet". By which uid plays no role: the operator adds the right one.
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

// hasFormerOwner is the CEL expression for "a Usage has such an owner reference".
func hasFormerOwner() string {
	return fmt.Sprintf("has(object.spec.by) && has(object.metadata.ownerReferences) && "+
		"object.metadata.ownerReferences.exists(o, %s)", formerOwner("o"))
}

// writtenUsages selects requests that write Usages, but not their statuses.
func writtenUsages() *admissionregistrationv1.MatchResources {
	all := &admissionregistrationv1.MatchResources{}
	for _, rule := range ownRules("usages", "clusterusages") {
		all.ResourceRules = append(all.ResourceRules,
			admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: rule})
	}
	return all
}

// dropOwners takes off a Usage the owner references that only the operator can know.
func dropOwners(in pack.Installation) []client.Object {
	kept := fmt.Sprintf(`object.metadata.ownerReferences.filter(o, !(%s)).map(o, {
  "apiVersion": o.apiVersion, "kind": o.kind, "name": o.name, "uid": o.uid,
  ?"controller": o.?controller, ?"blockOwnerDeletion": o.?blockOwnerDeletion})`, formerOwner("o"))
	return mutatingPolicy(ownersPolicy, writtenUsages(), []admissionregistrationv1.MatchCondition{
		{Name: "not-the-operator", Expression: in.Operators.DoNotAsk()},
		{Name: "has-a-former-owner", Expression: hasFormerOwner()},
	}, fmt.Sprintf(`[JSONPatch{op: "replace", path: "/metadata/ownerReferences", value: %s}]`, kept))
}

// refuseOwners refuses such a Usage.
func refuseOwners(in pack.Installation) []client.Object {
	fail, forbidden := admissionregistrationv1.Fail, metav1.StatusReasonForbidden
	return pack.ValidatingPolicy(ownersPolicy, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail, MatchConstraints: writtenUsages(),
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "not-the-operator", Expression: in.Operators.DoNotAsk(),
		}},
		Validations: []admissionregistrationv1.Validation{{
			Expression: "!(" + hasFormerOwner() + ")",
			Message: "Restored: an owner reference to what spec.by names has the uid of the former object, for which " +
				"Kubernetes would delete the Usage: leave metadata.ownerReferences out, Kinship writes it",
			Reason: &forbidden,
		}},
	})
}

// dropLock takes the lock off what somebody else than the operator writes with it.
func dropLock(in pack.Installation) []client.Object {
	written := matchUpdates()
	written.ResourceRules[0].Operations = []admissionregistrationv1.OperationType{
		admissionregistrationv1.Create, admissionregistrationv1.Update,
	}
	return mutatingPolicy(locksPolicy, written, []admissionregistrationv1.MatchCondition{
		{Name: "not-the-operator", Expression: in.Operators.DoNotAsk()},
		{Name: "puts-the-lock-on", Expression: fmt.Sprintf(
			"has(object.metadata.labels) && object.metadata.labels[?%[1]q].orValue('') == %[2]q && (oldObject == null || "+
				"oldObject.metadata.?labels[?%[1]q].orValue('') != %[2]q)", lockLabel, lockValue)},
	}, fmt.Sprintf(`[JSONPatch{op: "remove", path: "/metadata/labels/" + jsonpatch.escapeKey(%q)}]`, lockLabel))
}

// mutatingPolicy is a policy that changes requests, and its binding.
func mutatingPolicy(
	name string, match *admissionregistrationv1.MatchResources,
	conditions []admissionregistrationv1.MatchCondition, change string,
) []client.Object {
	fail := admissionregistrationv1.Fail
	return []client.Object{
		&admissionregistrationv1.MutatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
				MatchConstraints: match, MatchConditions: conditions, FailurePolicy: &fail,
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
