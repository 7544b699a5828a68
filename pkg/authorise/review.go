package authorise

import (
	"context"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

const (
	// answerTTL is how long an answer is used. A right that RBAC no longer grants ends after at
	// most answerTTL.
	answerTTL = 5 * time.Second
	// maxAnswers bounds the size of Reviewer.answers.
	maxAnswers = 4096
)

// Action is a request to the API server, as in the ResourceAttributes of a SubjectAccessReview.
type Action struct {
	Verb     string
	Group    string
	Resource string
	// Subresource is "" for the object itself, or for example status.
	Subresource string
	// Namespace is "" for cluster-scoped resources, and for a request about all namespaces, as in
	// ResourceAttributes.
	Namespace string
	// Name is "" for a request about all objects of the resource, as in ResourceAttributes.
	Name string
}

// Reviewer sends SubjectAccessReviews. A Reviewer is safe for concurrent use.
type Reviewer struct {
	client  authorizationclient.SubjectAccessReviewInterface
	answers *cache.LRUExpireCache
}

// NewReviewer returns a Reviewer that sends each SubjectAccessReview with a client.
func NewReviewer(client authorizationclient.SubjectAccessReviewInterface) *Reviewer {
	return &Reviewer{client: client, answers: cache.NewLRUExpireCache(maxAnswers)}
}

// Allowed reports whether a user has the right to every Action. Allowed first asks without
// Action.Name, because that answer is valid for every object of the resource. Only if the answer
// is no, Allowed asks with Action.Name.
func (r *Reviewer) Allowed(ctx context.Context, user authenticationv1.UserInfo, actions ...Action) (bool, error) {
	for _, a := range actions {
		broad := a
		broad.Name = ""
		ok, err := r.ask(ctx, user, broad)
		if err == nil && !ok && a.Name != "" {
			ok, err = r.ask(ctx, user, a)
		}
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

type question struct {
	user string
	Action
}

func (r *Reviewer) ask(ctx context.Context, user authenticationv1.UserInfo, a Action) (bool, error) {
	q := question{user: identity(user), Action: a}
	if answer, ok := r.answers.Get(q); ok {
		return answer.(bool), nil
	}
	review, err := r.client.Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra(user),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: a.Verb, Group: a.Group, Version: "*", Resource: a.Resource, Subresource: a.Subresource,
				Namespace: a.Namespace, Name: a.Name,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether %s may %s %s: %w", user.Username, a.Verb, a.Resource, err)
	}
	allowed := review.Status.Allowed && !review.Status.Denied
	r.answers.Add(q, allowed, answerTTL)
	return allowed, nil
}

// identity returns all fields of a UserInfo as a string, because rights may depend on each of
// the fields. Each field is quoted, so that two different users never have the same identity.
func identity(user authenticationv1.UserInfo) string {
	extras := make([]string, 0, len(user.Extra))
	for k, v := range user.Extra {
		extras = append(extras, fmt.Sprintf("%q=%q", k, []string(v)))
	}
	slices.Sort(extras)
	return fmt.Sprintf("%q %q %q %q", user.Username, user.UID, slices.Sorted(slices.Values(user.Groups)), extras)
}

func extra(user authenticationv1.UserInfo) map[string]authorizationv1.ExtraValue {
	if len(user.Extra) == 0 {
		return nil
	}
	m := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for k, v := range user.Extra {
		m[k] = authorizationv1.ExtraValue(v)
	}
	return m
}
