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
