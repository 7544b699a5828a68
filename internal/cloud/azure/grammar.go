package azure

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxID and maxName bound the texts of ids and names. The longest known type has 152 characters;
// ARM allows 260 for a name.
const (
	maxID   = 2048
	maxName = 260
)

var (
	guid     = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	provider = regexp.MustCompile(`^[A-Za-z0-9]+(\.[A-Za-z0-9]+)+$`)
	segment  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	group    = regexp.MustCompile(`^[\pL\pN_().-]{0,89}[\pL\pN_()-]$`)
	fullType = regexp.MustCompile(`^[A-Za-z0-9]+(\.[A-Za-z0-9]+)+(/[A-Za-z0-9][A-Za-z0-9_.-]*)+$`)
)

// notInNames are the characters that ARM refuses in every name. notInNames has %, so an id is never
// escaped.
const notInNames = `<>%&\?/#`

// checkID returns why a text is no id. The grammar, with / for the separator:
//
//	id    = scope 0*("providers" namespace 1*(type name))
//	scope = "" | "subscriptions" guid | "subscriptions" guid "resourceGroups" name
func checkID(text string) error {
	if len(text) > maxID {
		return fmt.Errorf("the text is longer than %d bytes", maxID)
	}
	if !utf8.ValidString(text) {
		return errors.New("the text is not valid UTF-8")
	}
	if !strings.HasPrefix(text, "/") {
		return errors.New("the text must start with /")
	}
	segments := strings.Split(strings.TrimSuffix(text, "/")[min(1, len(text)-1):], "/")
	rest, err := checkScope(segments)
	if err != nil {
		return err
	}
	for len(rest) > 0 && err == nil {
		rest, err = checkProvider(rest)
	}
	return err
}

// checkScope checks the segments before the first "providers", and returns the other segments.
func checkScope(segments []string) ([]string, error) {
	if strings.EqualFold(segments[0], "providers") {
		return segments, nil
	}
	if !strings.EqualFold(segments[0], "subscriptions") {
		return nil, errors.New("the text must start with /subscriptions or /providers")
	}
	if len(segments) < 2 || !guid.MatchString(segments[1]) {
		return nil, errors.New("the subscription must be a GUID")
	}
	segments = segments[2:]
	if len(segments) == 0 || !strings.EqualFold(segments[0], "resourceGroups") {
		return segments, nil
	}
	if len(segments) < 2 || !group.MatchString(segments[1]) {
		return nil, errors.New("the name of the resource group must have 1 to 90 letters, digits, and _ ( ) . - " +
			"with no dot at the end")
	}
	return segments[2:], nil
}

// checkProvider checks one provider with its types and names, and returns the segments after these.
func checkProvider(segments []string) ([]string, error) {
	if !strings.EqualFold(segments[0], "providers") {
		return nil, fmt.Errorf("%s must be providers", quote(segments[0]))
	}
	if len(segments) < 2 || !provider.MatchString(segments[1]) {
		return nil, errors.New("providers must be followed by a namespace, such as Microsoft.Network")
	}
	typ, rest := segments[1], segments[2:]
	for n := 0; n == 0 || len(rest) > 0 && !strings.EqualFold(rest[0], "providers"); n++ {
		if len(rest) < 2 {
			return nil, errors.New("a type must be followed by a name")
		}
		typ += "/" + rest[0]
		if !segment.MatchString(rest[0]) || strings.EqualFold(rest[0], "providers") {
			return nil, fmt.Errorf("%s is no type", quote(rest[0]))
		}
		if err := checkName(rest[1]); err != nil {
			return nil, err
		}
		rest = rest[2:]
	}
	return rest, checkSpelling(typ)
}

// checkSpelling refuses an id with a provider for a type whose ids ARM writes without a provider,
// such as Microsoft.Resources/resourceGroups.
func checkSpelling(typ string) error {
	for _, own := range []string{subscriptionType, groupType, tenantType, "Microsoft.Resources/providers"} {
		if strings.EqualFold(typ, own) || IsChildType(typ, own) {
			return fmt.Errorf("ids of the type %s are written without a provider", own)
		}
	}
	return nil
}

// checkType returns why a text is no full type.
func checkType(typ string) error {
	if len(typ) > maxID || !fullType.MatchString(typ) {
		return fmt.Errorf("%s is no full type, such as Microsoft.Network/virtualNetworks", quote(typ))
	}
	return nil
}

// checkName returns why a text is no name.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("a name is empty")
	case !utf8.ValidString(name):
		return fmt.Errorf("the name %s is not valid UTF-8", quote(name))
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("the name %s is longer than %d characters", quote(name), maxName)
	case name == "." || name == "..":
		return fmt.Errorf("the name %s consists of dots", quote(name))
	case strings.HasSuffix(name, "."): // Some servers drop dots at the end of a segment.
		return fmt.Errorf("the name %s ends with a dot", quote(name))
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("the name %s begins or ends with a space", quote(name))
	case strings.ContainsAny(name, notInNames), strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the name %s has one of the characters %s or a control character", quote(name), notInNames)
	}
	return nil
}

// CheckName returns why a text is not the name of a resource.
func CheckName(name string) error { return checkName(name) }

// quote quotes a text for a message, and cuts a text above 200 bytes.
func quote(text string) string {
	const most = 200
	if len(text) > most {
		text = text[:most] + "..."
	}
	return fmt.Sprintf("%q", text)
}
