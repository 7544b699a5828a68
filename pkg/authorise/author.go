package authorise

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AuthorsAnnotation records who wrote the spec of an object, as a JSON list. Only an admission
// webhook may set the annotation: the webhook replaces the value that a user sends.
const AuthorsAnnotation = "kinship.dev/authors"

// maxAuthors bounds the size of [AuthorsAnnotation] in bytes. A user may be in thousands of groups.
const maxAuthors = 64 << 10

// Author is a user who wrote a spec. Author lacks UserInfo.Extra, which can contain secrets.
type Author struct {
	Username string   `json:"username"`
	UID      string   `json:"uid,omitempty"`
	Groups   []string `json:"groups,omitempty"`
}

// AuthorOf returns the author of an admission request.
func AuthorOf(user authenticationv1.UserInfo) Author {
	return Author{Username: user.Username, UID: user.UID, Groups: slices.Sorted(slices.Values(user.Groups))}
}

func (a Author) user() authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: a.Username, UID: a.UID, Groups: a.Groups}
}

// FormatAuthors returns the value of [AuthorsAnnotation]. Each author is there once, in a fixed
// order. The error says that the value is too long.
func FormatAuthors(authors ...Author) (string, error) {
	var texts []string
	for _, a := range authors {
		text, err := json.Marshal(a)
		if err != nil {
			return "", fmt.Errorf("write author %s: %w", a.Username, err)
		}
		texts = append(texts, string(text))
	}
	slices.Sort(texts)
	all := "[" + strings.Join(slices.Compact(texts), ",") + "]"
	if len(all) > maxAuthors {
		return "", fmt.Errorf("the authors need %d bytes in annotation %s, and at most %d fit: "+
			"use an account with fewer groups", len(all), AuthorsAnnotation, maxAuthors)
	}
	return all, nil
}

// AuthorsOf returns the authors in [AuthorsAnnotation]. If the annotation is missing or can't be
// decoded, AuthorsOf returns none: then no author has any right, and [Reviewer.Denied] denies every
// [Action].
func AuthorsOf(obj metav1.Object) []Author {
	var authors []Author
	if err := json.Unmarshal([]byte(obj.GetAnnotations()[AuthorsAnnotation]), &authors); err != nil {
		return nil
	}
	return authors
}

// Denied asks by SubjectAccessReviews, and returns the first [Author] who lacks the right to one of
// the actions, with this [Action]. Denied returns "" if all authors have all rights.
func (r *Reviewer) Denied(ctx context.Context, authors []Author, actions ...Action) (string, Action, error) {
	for _, author := range authors {
		for _, action := range actions {
			allowed, err := r.Allowed(ctx, author.user(), action)
			if err != nil {
				return "", action, err
			}
			if !allowed {
				return author.Username, action, nil
			}
		}
	}
	return "", Action{}, nil
}
