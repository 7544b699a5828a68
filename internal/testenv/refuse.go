package testenv

import (
	"context"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Refuse creates a ValidatingAdmissionPolicy by which the API server refuses every UPDATE of a
// resource in a namespace for which a CEL expression over `object` is false. A subresource is named
// after its resource, as in networks/status. The policy is deleted at the end of the test, or by
// the function that Refuse returns. A namespace has one such policy at a time.
//
// The API server applies a new policy, and the deletion of a policy, a moment later: Refuse waits
// for both.
func Refuse(
	tb testing.TB, namespace string, resource schema.GroupVersionResource, expression, message string,
) (allow func()) {
	tb.Helper()
	c := Client(tb, nil)
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	policy.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{resource.Group}, APIVersions: []string{resource.Version},
					Resources: []string{resource.Resource},
				},
			},
		}},
	}
	policy.Spec.Validations = []admissionregistrationv1.Validation{{Expression: expression, Message: message}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	binding.Spec.PolicyName = policy.Name
	binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}

	ctx := context.WithoutCancel(tb.Context())
	allow = sync.OnceFunc(func() {
		for _, obj := range []client.Object{binding, policy} {
			if err := client.IgnoreNotFound(c.Delete(ctx, obj)); err != nil {
				tb.Errorf("testenv: allow %s: %v", resource, err)
			}
		}
	})
	tb.Cleanup(allow)
	for _, obj := range []client.Object{policy, binding} {
		if err := c.Create(tb.Context(), obj); err != nil {
			tb.Fatalf("testenv: refuse %s: %v", resource, err)
		}
	}
	return allow
}
