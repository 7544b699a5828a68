package object

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

// MaxKeyLength bounds the machine form in bytes. Kind, group, namespace and an
// ordinary name need 63+1+253+1+63+1+253; the rest is room for the kinds whose
// names may be longer, such as those of RBAC.
const MaxKeyLength = 1024

var kindPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

// Key returns the machine form "kind.group/namespace/name". Group and namespace
// may be empty; both slashes are always present. [Parse] reads the key of every
// ID that [ID.Validate] accepts.
func (id ID) Key() string {
	return id.kindAndGroup() + "/" + id.Namespace + "/" + id.Name
}

// Parse reads a text of [ID.Key]. Parse accepts no other text, so two different texts never
// name the same object.
func Parse(key string) (ID, error) {
	if len(key) > MaxKeyLength {
		return ID{}, fmt.Errorf("parse object key: it has %d bytes, at most %d are allowed", len(key), MaxKeyLength)
	}
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return ID{}, fmt.Errorf("parse object key %q: want kind.group/namespace/name with two slashes "+
			"(nothing between them if cluster-scoped), got %d", key, len(parts)-1)
	}
	kind, group, dotted := strings.Cut(parts[0], ".")
	if dotted && group == "" {
		return ID{}, fmt.Errorf("parse object key %q: the group after %q. is empty; leave the dot out for the core group",
			key, kind)
	}
	id := ID{Group: group, Kind: kind, Namespace: parts[1], Name: parts[2]}
	if err := id.Validate(); err != nil {
		return ID{}, fmt.Errorf("parse object key %q: %w", key, err)
	}
	return id, nil
}

// Validate reports every part that the API server would refuse.
func (id ID) Validate() error {
	errs := []error{
		partError("kind", id.Kind, kindProblems(id.Kind)),
		partError("name", id.Name, nameProblems(id.Name)),
	}
	if id.Group != "" {
		errs = append(errs, partError("group", id.Group, validation.IsDNS1123Subdomain(id.Group)))
	}
	if id.Namespace != "" {
		errs = append(errs, partError("namespace", id.Namespace, validation.IsDNS1123Label(id.Namespace)))
	}
	if n := len(id.Key()); n > MaxKeyLength {
		errs = append(errs, fmt.Errorf("the key has %d bytes, at most %d are allowed", n, MaxKeyLength))
	}
	return errors.Join(errs...)
}

// kindProblems compares bytes. strings.ToLower would accept the Kelvin sign U+212A as a K,
// and two kinds would look alike.
func kindProblems(kind string) []string {
	if len(kind) <= validation.DNS1035LabelMaxLength && kindPattern.MatchString(kind) {
		return nil
	}
	return []string{fmt.Sprintf("a kind is a letter followed by letters, digits and inner dashes, at most %d",
		validation.DNS1035LabelMaxLength)}
}

// nameProblems applies content.IsPathSegmentName, the widest rule of any kind, and refuses
// characters that break a line of a log.
func nameProblems(name string) []string {
	if name == "" {
		return []string{"it is empty"}
	}
	problems := content.IsPathSegmentName(name)
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unsafeInText) {
		problems = append(problems, "it may hold printable text only")
	}
	return problems
}

func unsafeInText(r rune) bool { return !unicode.IsPrint(r) }

func partError(part, value string, problems []string) error {
	switch {
	case len(problems) == 0:
		return nil
	case value == "":
		return fmt.Errorf("the %s is empty", part)
	default:
		return fmt.Errorf("%s %q is not valid: %s", part, value, strings.Join(problems, "; "))
	}
}
