package tokenauth

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Cluster is a Reviewer that asks an API server. Cluster needs the right to create tokenreviews
// and subjectaccessreviews.
type Cluster struct {
	Clients kubernetes.Interface
}

// Authenticate implements Reviewer.
func (c Cluster) Authenticate(
	ctx context.Context, token string,
) (user authenticationv1.UserInfo, authenticated bool, err error) {
	review, err := c.Clients.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return user, false, fmt.Errorf("review a token: %w", err)
	}
	return review.Status.User, review.Status.Authenticated, nil
}

// MayAccess implements Reviewer.
func (c Cluster) MayAccess(
	ctx context.Context, user authenticationv1.UserInfo, verb, path string,
) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review, err := c.Clients.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: verb, Path: path},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("review the access of %s: %w", user.Username, err)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}
