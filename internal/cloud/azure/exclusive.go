package azure

import (
	"slices"
	"strings"
)

// exclusive are the types of which ARM changes only one resource of a parent at a time. In
// recordings, ARM refuses another change with RetryableErrorDueToAnotherOperation.
var exclusive = []string{"Microsoft.Network/routeTables/routes"}

// IsExclusive reports whether ARM changes only one resource of a type at a time among the children
// of a parent, such as the routes of a route table.
func IsExclusive(typ string) bool {
	return slices.ContainsFunc(exclusive, func(one string) bool { return strings.EqualFold(one, typ) })
}
