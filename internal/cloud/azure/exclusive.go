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

// ExclusiveTypes returns the types of children that ARM changes one at a time ([LockOf]).
func ExclusiveTypes() []string { return slices.Clone(exclusive) }

// LockOf returns the resource that ARM locks while ARM changes the resource with an [ID], and whether there
// is such a lock. For a subnet, a peering and their virtual network, this is the virtual network: ARM
// changes one of them at a time.
func LockOf(id ID) (ID, bool) {
	for _, child := range exclusive {
		if strings.EqualFold(child, id.Type()) {
			return id.Parent(), true
		}
		if IsChildType(child, id.Type()) {
			return id, true
		}
	}
	return ID{}, false
}
