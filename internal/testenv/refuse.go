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

// Refuse has the API server refuse, with a message, to update a resource in a
// namespace to anything for which a CEL expression over `object` is false. The name
// of a subresource follows that of its resource and a slash. It ends with the test, or
// when the function that it returns is called; a namespace has one at a time.
//
// Policies come into force a moment after they are written, and go out of force so:
// the test has to wait until it sees that.
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
