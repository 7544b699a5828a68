package pack

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ValidatingPolicy returns a policy and the binding by which the policy refuses requests. Both
// have the same name. A request that the API server can't judge is refused.
func ValidatingPolicy(name string, spec admissionregistrationv1.ValidatingAdmissionPolicySpec) []client.Object {
	spec.FailurePolicy = new(admissionregistrationv1.Fail)
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

// Forbid returns the validation of a policy that answers 403 with a message unless a CEL expression is true.
func Forbid(unless, message string) admissionregistrationv1.Validation {
	return admissionregistrationv1.Validation{
		Expression: unless, Message: message, Reason: new(metav1.StatusReasonForbidden),
	}
}

// Match selects requests by rules.
func Match(rules ...admissionregistrationv1.RuleWithOperations) *admissionregistrationv1.MatchResources {
	match := &admissionregistrationv1.MatchResources{}
	for _, rule := range rules {
		match.ResourceRules = append(match.ResourceRules,
			admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: rule})
	}
	return match
}

// Optional returns the CEL expression for a field of an object, such as object.?spec.?secretRef for spec.secretRef.
func Optional(object, field string) string {
	return object + ".?" + strings.ReplaceAll(field, ".", ".?")
}
