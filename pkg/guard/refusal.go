package guard

import (
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// MaxNamed is the largest number of blockers in [Refusal.Message]. The message counts the rest.
const MaxNamed = 10

// CauseInUse is the type of the entries in details.causes of [Refusal.Status], one entry for
// each [Blocker] in the message. A program reads the causes instead of the message.
const CauseInUse metav1.CauseType = "InUse"

// Blocker is one reason why the API server refuses the DELETE of an object.
type Blocker struct {
	// By is the object that uses the target, as text. By is empty if the target is protected
	// without a user (spec.reason of a Usage).
	By string
	// Reason is spec.reason of the Usage.
	Reason string
	// Content is a protected object that the deletion would delete too. Content is set if the
	// target is the Namespace or CustomResourceDefinition of a protected object.
	Content string
	// Declarer is the object that declares the protection, such as a Usage or ClusterUsage.
	Declarer object.ID
}

// Refusal is the answer to a refused deletion: the object and the blockers.
type Refusal struct {
	Target   object.ID
	UID      types.UID
	Blockers []Blocker
}

// Message returns one sentence each for users, for protections, and for protected content
// (Blocker.Content).
func (r Refusal) Message() string {
	var used, protected, content []string
	for i, b := range r.Blockers {
		switch {
		case b.Content != "":
			content = append(content, r.named(i, b.Content, b))
		case b.By != "":
			used = append(used, r.named(i, b.By, b))
		case b.Reason != "":
			protected = append(protected, r.named(i, fmt.Sprintf("%q", b.Reason), b))
		default:
			protected = append(protected, r.named(i, "no reason given", b))
		}
	}
	var sentences []string
	if len(used) > 0 {
		sentences = append(sentences, fmt.Sprintf("The resource is used by %d resource(s): %s.", len(used), enumerate(used)))
	}
	if len(protected) > 0 {
		sentences = append(sentences, fmt.Sprintf("The resource is protected: %s.", enumerate(protected)))
	}
	if len(content) > 0 {
		sentences = append(sentences, fmt.Sprintf(
			"The resource holds %d protected resource(s): %s.", len(content), enumerate(content)))
	}
	return strings.Join(sentences, " ")
}

// Status returns the refusal as a metav1.Status: 409 Conflict, with the blockers in
// details.causes.
func (r Refusal) Status() *metav1.Status {
	details := &metav1.StatusDetails{
		Name: r.Target.Name, Group: r.Target.Group, Kind: r.Target.Kind, UID: r.UID,
	}
	for _, b := range r.Blockers[:min(len(r.Blockers), MaxNamed)] {
		message := b.By
		if message == "" {
			message = b.Reason
		}
		if b.Content != "" {
			message = b.Content
		}
		details.Causes = append(details.Causes, metav1.StatusCause{
			Type: CauseInUse, Message: message, Field: b.Declarer.Key(),
		})
	}
	return &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusConflict,
		Reason:  metav1.StatusReasonConflict,
		Message: r.Message(),
		Details: details,
	}
}

// named returns the text for blocker i, or "" if i is MaxNamed or more.
func (r Refusal) named(i int, what string, b Blocker) string {
	if i >= MaxNamed {
		return ""
	}
	where := ""
	if b.Declarer.Namespace != "" {
		where = " in namespace " + b.Declarer.Namespace
	}
	return fmt.Sprintf("%s (%s %s%s)", what, b.Declarer.Kind, b.Declarer.Name, where)
}

func enumerate(items []string) string {
	var named []string
	for _, item := range items {
		if item != "" {
			named = append(named, item)
		}
	}
	rest := len(items) - len(named)
	switch {
	case rest == 0:
		return strings.Join(named, ", ")
	case len(named) == 0:
		return fmt.Sprintf("%d more", rest)
	default:
		return fmt.Sprintf("%s, and %d more", strings.Join(named, ", "), rest)
	}
}
