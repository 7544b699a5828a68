package azure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWrongOrder: a subnet, its network and the resource group are applied in the wrong order at once.
// Each waits for its owner, is created once, and has the owner's uid. Deleted at once, the group takes
// everything along with one request.
func TestWrongOrder(t *testing.T) {
	w := newWorld(t)
	w.apply(subnet("front", "net"), vnet("net", "rg"))
	w.says("subnet/front", "False WaitingForOwner Waiting for VirtualNetwork/net to be ready")
	w.says("vnet/net", "False WaitingForOwner Waiting for ResourceGroup/rg to be created")
	w.apply(group("rg"))
	w.ready("rg/rg", "vnet/net", "subnet/front")
	w.inCloud("rg", "net", "front")
	want := "/subscriptions/" + w.subscription +
		"/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/net/subnets/front"
	if got := w.id("subnet/front").String(); got != want {
		t.Errorf("id %s, want %s", got, want)
	}
	owner, front := w.get("vnet", "net"), w.get("subnet", "front")
	if references := front.GetOwnerReferences(); len(references) != 1 || references[0].UID != owner.GetUID() {
		t.Errorf("owner references %+v, want uid %s", references, owner.GetUID())
	}
	labels := map[string]string{
		"azure.kinship.dev/owner-name": "net", "azure.kinship.dev/owner-kind": "VirtualNetwork",
		"azure.kinship.dev/owner-uid": string(owner.GetUID()),
	}
	if diff := cmp.Diff(labels, front.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	for _, kind := range []string{"rg", "vnet", "subnet"} {
		if puts := w.calls("PUT", kind); puts != 1 {
			t.Errorf("%d PUTs of %s, want 1", puts, kind)
		}
	}
	w.delete("rg/rg", "vnet/net", "subnet/front")
	w.gone("subnet/front", "vnet/net", "rg/rg")
	w.inCloud()
	w.noneRefused()
	if n := w.calls("DELETE", "vnet") + w.calls("DELETE", "subnet"); n != 0 {
		t.Errorf("%d DELETEs of what went with the group", n)
	}
}
