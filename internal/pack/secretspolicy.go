package pack

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// KeepSecrets returns a policy and its binding, called name, by which the API server refuses
// some of the operator's accounts every change of a Secret's data or type. Packs put labels and
// finalizers on Secrets, and RBAC can't limit a patch to metadata. The API server merges
// stringData into data before a policy sees the Secret.
func KeepSecrets(name string, accounts Operators) []client.Object {
	fail, forbidden := admissionregistrationv1.Fail, metav1.StatusReasonForbidden
	return ValidatingPolicy(name, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionregistrationv1.MatchResources{
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{
						admissionregistrationv1.Create, admissionregistrationv1.Update,
					},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"secrets"},
					},
				},
			}},
		},
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "the-operator", Expression: accounts.asks()}},
		Validations: []admissionregistrationv1.Validation{{
			Expression: "oldObject != null && object.?data == oldObject.?data && " +
				"object.?stringData == oldObject.?stringData && " +
				"object.?type == oldObject.?type && object.?immutable == oldObject.?immutable",
			Message: "Kinship marks Secrets and changes nothing else of them",
			Reason:  &forbidden,
		}},
	})
}
