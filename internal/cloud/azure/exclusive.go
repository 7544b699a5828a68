package azure

import (
	"slices"
	"strings"
)

// exclusive are the types of which ARM changes only one resource of a parent at a time. The sources are in
// docs/decisions/0025-azure-pack.md.
var exclusive = []string{
	"Microsoft.Cache/redis/accessPolicies",
	"Microsoft.Cache/redis/accessPolicyAssignments",
	"Microsoft.Network/routeTables/routes",
	"Microsoft.Network/virtualNetworks/subnets",
	"Microsoft.Network/virtualNetworks/virtualNetworkPeerings",
}

// IsExclusive reports whether ARM changes only one resource of a type at a time among the children
// of a parent, such as the routes of a route table.
func IsExclusive(typ string) bool {
	return slices.ContainsFunc(exclusive, func(one string) bool { return strings.EqualFold(one, typ) })
}
