package testenv

import (
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// AwaitRights waits until the API server grants a user all given rights in a namespace, or none
// of them: the API server learns of roles by watches. AwaitRights asks about the first verb,
// group, resource and name of each rule.
func AwaitRights(tb testing.TB, user, namespace string, want bool, rules ...rbacv1.PolicyRule) {
	tb.Helper()
	c := Client(tb, nil)
	for _, rule := range rules {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: []string{"system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: rule.Resources[0],
			},
		}}
		if len(rule.ResourceNames) > 0 {
			review.Spec.ResourceAttributes.Name = rule.ResourceNames[0]
		}
		Eventually(tb, func() error {
			asked := review.DeepCopy()
			if err := c.Create(tb.Context(), asked); err != nil {
				return err
			}
			if asked.Status.Allowed != want {
				return fmt.Errorf("testenv: %s: %v is %t, want %t", user, rule, asked.Status.Allowed, want)
			}
			return nil
		})
	}
}
