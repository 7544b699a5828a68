package security_test

import (
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// awaitRights waits until the API server gives a user all of the rights, or none
// of them: it learns of roles by a watch.
func (l land) awaitRights(user string, want bool, rules ...rbacv1.PolicyRule) {
	l.t.Helper()
	for _, rule := range rules {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: []string{"system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: l.ns, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: rule.Resources[0],
			},
		}}
		if len(rule.ResourceNames) > 0 {
			review.Spec.ResourceAttributes.Name = rule.ResourceNames[0]
		}
		testenv.Eventually(l.t, func() error {
			asked := review.DeepCopy()
			if err := l.c.Create(l.t.Context(), asked); err != nil {
				return err
			}
			if asked.Status.Allowed != want {
				return fmt.Errorf("%s: %v is %t, want %t", user, rule, asked.Status.Allowed, want)
			}
			return nil
		})
	}
}
