package catalogue

import (
	"fmt"
	"strings"
)

// TypeOf returns the ARM type of an id: Microsoft.Network/virtualNetworks/subnets. It refuses a text that
// isn't exactly an ARM id, such as one with an empty segment, with a query, or with a name missing.
func TypeOf(id string) (string, error) {
	segments, err := splitID(id)
	if err != nil {
		return "", err
	}
	at := -1 // of the last "providers", which is in front of the type
	for i := 0; i < len(segments); i += 2 {
		if strings.EqualFold(segments[i], "providers") {
			at = i
		}
	}
	switch {
	case at < 0 && !strings.EqualFold(segments[0], "subscriptions"):
		return "", fmt.Errorf("the ARM id %q starts with neither subscriptions nor providers", id)
	case at < 0 && len(segments) == 2:
		return "Microsoft.Resources/subscriptions", nil
	case at < 0 && len(segments) == 4 && strings.EqualFold(segments[2], "resourceGroups"):
		return ResourceGroupType, nil
	case at < 0 || len(segments) < at+4:
		return "", fmt.Errorf("the ARM id %q lacks a type after its provider", id)
	}
	types := []string{segments[at+1]}
	for i := at + 2; i < len(segments); i += 2 {
		types = append(types, segments[i])
	}
	return strings.Join(types, "/"), nil
}

// splitID returns the segments of an ARM id: pairs of a type and a name.
func splitID(id string) ([]string, error) {
	segments := strings.Split(id, "/")
	if len(segments) < 3 || segments[0] != "" {
		return nil, fmt.Errorf("%q is no ARM id such as /subscriptions/S/resourceGroups/G", id)
	}
	for _, s := range segments[1:] {
		if s == "" || strings.ContainsAny(s, "?#\\ \t\n") {
			return nil, fmt.Errorf("the ARM id %q has a segment that is empty or has a space, ?, # or \\", id)
		}
	}
	if len(segments)%2 == 0 {
		return nil, fmt.Errorf("the ARM id %q lacks a name at its end", id)
	}
	return segments[1:], nil
}

// CheckTarget fails unless an ARM id is that of one of the targets. Without targets, any ARM id passes.
func CheckTarget(id string, targets []Target) error {
	armType, err := TypeOf(id)
	if err != nil {
		return err
	}
	wanted := make([]string, 0, len(targets))
	for _, t := range targets {
		want := strings.TrimSuffix(t.Type+"/"+t.Part, "/")
		if strings.EqualFold(armType, want) {
			return nil
		}
		wanted = append(wanted, want)
	}
	if len(targets) == 0 {
		return nil
	}
	return fmt.Errorf("the ARM id %q is of %s instead of %s", id, armType, strings.Join(wanted, " or "))
}
