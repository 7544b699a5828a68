package pack

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GuardStatuses returns a policy and its binding, called name, by which the API server lets
// only the operator write the statuses of some resources of a group. A tenant who could write
// status.id could make the operator delete another tenant's resource.
//
// A user with the verb override on the resource in the whole cluster may write statuses too,
// for repairs and for restoring a backup. A right in one namespace is not enough.
func GuardStatuses(name, group string, resources []string, in Installation) []client.Object {
	fail, forbidden := admissionregistrationv1.Fail, metav1.StatusReasonForbidden
	statuses := make([]string, 0, len(resources))
	for _, r := range resources {
		statuses = append(statuses, r+"/status")
	}
	return ValidatingPolicy(name, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionregistrationv1.MatchResources{
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: statuses,
					},
				},
			}},
		},
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "not-the-operator", Expression: in.Operators.DoNotAsk(),
		}},
		Validations: []admissionregistrationv1.Validation{{
			Expression: fmt.Sprintf("authorizer.group(%q).resource(request.resource.resource).check('override').allowed()",
				group),
			Message: "only Kinship may write this status: it says what the operator has seen. Somebody with the verb " +
				"override on the resource, in the whole cluster, may correct it",
			Reason: &forbidden,
		}},
	})
}

// ValidatingPolicy returns a policy and the binding by which the policy refuses requests. Both
// have the same name.
func ValidatingPolicy(name string, spec admissionregistrationv1.ValidatingAdmissionPolicySpec) []client.Object {
	return []client.Object{
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        name,
				ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		},
	}
}
