package usage

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
)

// keepLock are the objects that keep the lock from being taken off an object by
// anybody but the operator. Where the API server can change requests by itself
// it puts the label back, so that whoever writes whole objects is not in the way
// of himself; elsewhere it refuses. Status requests can strip labels too, hence
// all subresources.
func keepLock(in pack.Installation) []client.Object {
	if in.MutatingPolicies {
		return restoreLock(in)
	}
	return refuseStripping(in)
}

// stripped is the CEL expression for "this request takes the lock off".
func stripped(operators pack.Operators) string {
	locked := func(o string) string {
		labels := o + ".metadata.labels"
		return fmt.Sprintf("(has(%[1]s) && %[2]q in %[1]s && %[1]s[%[2]q] == %[3]q)", labels, lockLabel, lockValue)
	}
	return fmt.Sprintf("%s && !%s && %s", locked("oldObject"), locked("object"), operators.DoNotAsk())
}

// matchUpdates selects requests that change a locked object in whatever way.
func matchUpdates() *admissionregistrationv1.MatchResources {
	all := admissionregistrationv1.AllScopes
	return &admissionregistrationv1.MatchResources{
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{lockLabel: lockValue}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}, Scope: &all,
				},
			},
		}},
	}
}

func restoreLock(in pack.Installation) []client.Object {
	put := fmt.Sprintf(`has(object.metadata.labels)
  ? [JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey(%[1]q), value: %[2]q}]
  : [JSONPatch{op: "add", path: "/metadata/labels", value: {%[1]q: %[2]q}}]`, lockLabel, lockValue)
	return mutatingPolicy(keepPolicy, matchUpdates(), []admissionregistrationv1.MatchCondition{{
		Name: "takes-the-lock-off", Expression: stripped(in.Operators),
	}}, put)
}

func refuseStripping(in pack.Installation) []client.Object {
	fail, forbidden := admissionregistrationv1.Fail, metav1.StatusReasonForbidden
	return pack.ValidatingPolicy(keepPolicy, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: matchUpdates(),
		FailurePolicy:    &fail,
		Validations: []admissionregistrationv1.Validation{{
			Expression: "!(" + stripped(in.Operators) + ")",
			Message: fmt.Sprintf("label %s says that the object is in use; it goes when nothing uses it any more: "+
				"run kubectl kinship who-uses", lockLabel),
			Reason: &forbidden,
		}},
	})
}

// refuseByPolicy refuses the deletion of locked objects without asking anybody, but for
// somebody who may override all Usages and says so on the object. The API server allows a
// policy no other answers than 403 and 422.
func refuseByPolicy() []client.Object {
	fail, all := admissionregistrationv1.Fail, admissionregistrationv1.AllScopes
	equivalent := admissionregistrationv1.Equivalent
	return pack.ValidatingPolicy(refusePolicy, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{}, MatchPolicy: &equivalent,
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{lockLabel: lockValue}},
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}, Scope: &all,
					},
				},
			}},
		},
		FailurePolicy: &fail,
		Validations:   refuseUnlessOverridden(),
	})
}

const refusedByPolicy = "The resource is in use or protected by a Usage: run kubectl kinship who-uses to see by which."

// keepRecords lets only the operator write the statuses of Usages, and the mark of authority.
// An operator that asks webhooks believes both: status.refused is carried out in the recorded
// user's name, and status.using says whose end is the end of the protection.
func keepRecords(in pack.Installation) []client.Object {
	fail, forbidden := admissionregistrationv1.Fail, metav1.StatusReasonForbidden
	mark := func(o string) string {
		return fmt.Sprintf("has(%[1]s.metadata.annotations) && %[2]q in %[1]s.metadata.annotations ? "+
			"%[1]s.metadata.annotations[%[2]q] : ''", o, authorityAnnotation)
	}
	return pack.ValidatingPolicy(recordsPolicy, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionregistrationv1.MatchResources{
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{
						admissionregistrationv1.Create, admissionregistrationv1.Update,
					},
					Rule: admissionregistrationv1.Rule{
						APIGroups: groups, APIVersions: []string{"*"},
						Resources: []string{"usages", "clusterusages", "usages/status", "clusterusages/status"},
					},
				},
			}},
		},
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "not-the-operator", Expression: in.Operators.DoNotAsk(),
		}},
		Variables: []admissionregistrationv1.Variable{
			{Name: "mark", Expression: mark("object")},
			{Name: "before", Expression: "oldObject == null ? '' : (" + mark("oldObject") + ")"},
		},
		Validations: []admissionregistrationv1.Validation{
			{
				Expression: "variables.mark == '' || (variables.mark == variables.before && object.spec == oldObject.spec)",
				Message:    "annotation " + authorityAnnotation + " is set by Kinship alone: leave it out",
				Reason:     &forbidden,
			},
			{
				Expression: "!has(request.subResource) || request.subResource != 'status'",
				Message:    statusRefused,
				Reason:     &forbidden,
			},
		},
	})
}
