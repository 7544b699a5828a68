package catalogue

import "strings"

// Path is a place in an ARM body: a JSON pointer in which the segment "*" is each element of a list and each
// key of a map, such as /identity/userAssignedIdentities/*/principalId.
type Path string

// Contains reports whether a JSON pointer, such as /sku/tier, leads to the place or into the value there. The case of
// letters does not count.
func (p Path) Contains(pointer string) bool {
	inner := strings.Split(pointer, "/")
	outer := strings.Split(string(p), "/")
	if len(inner) < len(outer) {
		return false
	}
	for i, segment := range outer {
		if !isAt(segment, inner[i]) {
			return false
		}
	}
	return true
}

// Action is a POST request to a resource whose answer tells something, such as listKeys.
type Action struct {
	// Name is the last segment of the request's path.
	Name string
	// Sensitive are the secrets in the answer that Azure declares. Azure declares few of those that there are.
	Sensitive []Path
}
