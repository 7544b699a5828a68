package azure_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// within is an ownerRef to an object of any kind.
func within(kind, name string) string {
	k := kindOf(kind)
	return fmt.Sprintf("ownerRef: {kubernetes: {group: %s, kind: %s, name: %s}}", k.Group, k.Kind, name)
}

// TestExtensions: a lock and a role assignment may be in a network, in a resource group, and in a subscription. Each
// waits for its owner, has an id in the owner's, and ends with it. The name of a role assignment is a GUID.
func TestExtensions(t *testing.T) {
	w := newPromptWorld(t)
	const level = "level: CanNotDelete"
	const role = "principalId: 6f2a8c1e-0000-0000-0000-000000000000, roleDefinitionRef: {azure: {name: " +
		"Microsoft.Authorization/roleDefinitions/2a2b9908-6ea1-4ae2-8e65-a410df84e7d1}}"
	const given = "aaaaaaaa-2222-3333-4444-555555555555"
	w.apply(manifest("lock", "held", "", within("vnet", "net")+", "+level),
		manifest("role", "reader", "", within("vnet", "net")+", "+role), vnet("net", "rg"))
	w.says("lock/held", "False WaitingForOwner Waiting for VirtualNetwork/net to be ready")
	w.apply(group("rg"), manifest("lock", "all", "rg", level), manifest("role", given, "rg", role),
		manifest("role", "everywhere", "", role))
	w.ready("rg/rg", "vnet/net", "lock/held", "lock/all", "role/reader", "role/"+given, "role/everywhere")
	network := w.id("vnet/net").String()
	const roles = "/providers/Microsoft.Authorization/roleAssignments/"
	uid := func(name string) string { return string(w.get("role", name).GetUID()) }
	for one, want := range map[string]string{
		"lock/held":       network + "/providers/Microsoft.Authorization/locks/held",
		"lock/all":        w.id("rg/rg").String() + "/providers/Microsoft.Authorization/locks/all",
		"role/reader":     network + roles + uid("reader"),
		"role/" + given:   w.id("rg/rg").String() + roles + given,
		"role/everywhere": "/subscriptions/" + w.subscription + roles + uid("everywhere"),
	} {
		if got := w.id(one).String(); got != want {
			t.Errorf("%s has the id %s, want %s", one, got, want)
		}
	}
	w.delete("vnet/net")
	w.gone("vnet/net", "lock/held", "role/reader")
	testenv.Eventually(t, func() error {
		for _, item := range w.cloud.Inventory() {
			if strings.HasPrefix(item.ID, network) {
				return fmt.Errorf("the cloud still has %s", item.ID)
			}
		}
		return nil
	})
	w.delete("role/everywhere", "rg/rg")
	w.gone("rg/rg", "lock/all", "role/"+given, "role/everywhere")
	w.inCloud()
}
