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

const (
	// AuthorsAnnotation records who wrote the spec, the labels and the annotations of an object, as a JSON list. Only
	// an admission webhook may set the annotation: the webhook replaces the value that a user sends ([Record]).
	AuthorsAnnotation = "kinship.dev/authors"
	// RenderedAnnotation records, in the same form, the authors of the objects from which the operator made an object.
	// The annotation is one of its own, so that the operator's writes keep the users in AuthorsAnnotation, who
	// changed the made object afterwards.
	RenderedAnnotation = "kinship.dev/rendered-authors"
	// TakeAnnotation makes the user whom it names the only author of an object, if this user sets the annotation. The
	// webhook removes the annotation.
	TakeAnnotation = "kinship.dev/take-authorship"
)

// Annotations are the annotations that say who wrote an object. A pack MUST NOT copy these annotations into another
// object, and MUST NOT let a user's path set them.
var Annotations = []string{AuthorsAnnotation, RenderedAnnotation, TakeAnnotation}

// Bounds of [AuthorsAnnotation]. A user may be in thousands of groups.
const (
	// maxBytes is the size of the value.
	maxBytes = 64 << 10
	// maxAuthors is the number of authors. Each author costs a SubjectAccessReview for each kind.
	maxAuthors = 16
)

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
// order, with the groups of the last entry. The error says that the value is too long.
func FormatAuthors(authors ...Author) (string, error) {
	var texts []string
	for i, a := range authors {
		if slices.ContainsFunc(authors[i+1:], func(b Author) bool { return b.Username == a.Username && b.UID == a.UID }) {
			continue
		}
		text, err := json.Marshal(a)
		if err != nil {
			return "", fmt.Errorf("write author %s: %w", a.Username, err)
		}
		texts = append(texts, string(text))
	}
	slices.Sort(texts)
	if len(texts) > maxAuthors {
		return "", fmt.Errorf("the object has %d authors, and at most %d fit into annotation %s: a user who may create "+
			"everything that the object describes can take it over with the annotation %s=USER",
			len(texts), maxAuthors, AuthorsAnnotation, TakeAnnotation)
	}
	all := "[" + strings.Join(texts, ",") + "]"
	if len(all) > maxBytes {
		return "", fmt.Errorf("the authors need %d bytes in annotation %s, and at most %d fit: "+
			"use an account with fewer groups", len(all), AuthorsAnnotation, maxBytes)
	}
	return all, nil
}

// AuthorsOf returns the authors in [AuthorsAnnotation] and [RenderedAnnotation]. If both annotations are missing, or
// one can't be decoded, AuthorsOf returns none: then no author has any right, and [Permit.Check] refuses every
// kind.
func AuthorsOf(obj metav1.Object) []Author { return authorsIn(obj.GetAnnotations()) }

func authorsIn(annotations map[string]string) []Author {
	var all []Author
	for _, name := range []string{AuthorsAnnotation, RenderedAnnotation} {
		text, ok := annotations[name]
		if !ok {
			continue
		}
		var authors []Author
		if err := json.Unmarshal([]byte(text), &authors); err != nil {
			return nil
		}
		all = append(all, authors...)
	}
	return all
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
