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
	// answerTTL is how long an answer is believed. A right that is taken away is
	// gone after at most this long.
	answerTTL = 5 * time.Second
	// maxAnswers bounds the memory of the cache.
	maxAnswers = 4096
)

// Action is something that a user may or may not do.
type Action struct {
	Verb     string
	Group    string
	Resource string
	// Namespace is empty for cluster-scoped resources, and for all namespaces.
	Namespace string
	// Name is empty for all objects.
	Name string
}

// Reviewer asks whether users may do things. It is safe for concurrent use.
type Reviewer struct {
	client  authorizationclient.SubjectAccessReviewInterface
	answers *cache.LRUExpireCache
}

// NewReviewer returns a Reviewer that asks through a client.
func NewReviewer(client authorizationclient.SubjectAccessReviewInterface) *Reviewer {
	return &Reviewer{client: client, answers: cache.NewLRUExpireCache(maxAnswers)}
}

// Allowed reports whether a user may do all of the actions. It first asks for
// all objects of the kind, because that answer serves for every object; only
// who may not do that is asked for by name.
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
				Verb: a.Verb, Group: a.Group, Version: "*", Resource: a.Resource,
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

// identity is everything about a user that rights can depend on, as one string.
// It quotes every part, so that no two users have the same.
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
