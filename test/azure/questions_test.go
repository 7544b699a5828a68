package azure_test

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// nic is a NetworkInterface in a subnet, which is named by a reference.
func nic(name, owner, subnet string, fields ...string) string {
	configuration := "{name: first, subnet: " + subnet + "}"
	if len(fields) > 0 {
		configuration = "{name: first, subnet: " + subnet + ", " + fields[0] + "}"
	}
	return manifest("nic", name, owner, "location: westeurope, ipConfigurations: ["+configuration+"]")
}

func address(name, owner string) string { return manifest("ip", name, owner, "location: westeurope") }

// TestLinkMissing: a resource with links to others that don't exist names all of them, sends nothing, and is
// created when they are ready.
func TestLinkMissing(t *testing.T) {
	w := newPromptWorld(t)
	w.apply(group("rg"), nic("card", "rg", "{kubernetes: {name: front}}", "publicIPAddress: {kubernetes: {name: public}}"))
	w.says("nic/card", "False WaitingForReference Waiting for PublicIPAddress/public to be created\n"+
		"Waiting for VirtualNetworksSubnet/front to be created")
	if n := w.calls("PUT", "nic") + w.calls("GET", "nic"); n != 0 {
		t.Errorf("%d requests for the network interface", n)
	}
	w.apply(vnet("net", "rg"), subnet("front", "net"), address("public", "rg"))
	w.ready("nic/card")
	body, _, _ := unstructured.NestedMap(w.get("nic", "card").Object, "status", "resource", "properties")
	configurations, _ := body["ipConfigurations"].([]any)
	if len(configurations) != 1 {
		t.Fatalf("status.resource has the properties %v", body)
	}
	id, _, _ := unstructured.NestedString(configurations[0].(map[string]any), "properties", "subnet", "id")
	if want := w.id("subnet/front").String(); id != want {
		t.Errorf("the subnet is %q, want %q", id, want)
	}
}

// TestDeletionInOrder: an object that another one refers to waits for that one, and so does the owner of
// such an object. Nothing is refused.
func TestDeletionInOrder(t *testing.T) {
	w := newWorld(t)
	w.apply(group("rg"), vnet("net", "rg"), subnet("front", "net"), nic("card", "rg", "{kubernetes: {name: front}}"))
	w.ready("nic/card")
	w.delete("subnet/front")
	w.says("subnet/front", "False InUse Waiting for NetworkInterface/card to be deleted: "+
		"it holds finalizer azure.kinship.dev/in-use")
	w.delete("vnet/net")
	w.says("vnet/net", "False InUse Waiting for NetworkInterface/card to be deleted: "+
		"it refers to VirtualNetworksSubnet/front")
	w.delete("nic/card")
	w.gone("nic/card", "subnet/front", "vnet/net")
	w.inCloud("rg")
	w.noneRefused()
	if n := w.calls("DELETE", "subnet"); n != 0 {
		t.Errorf("%d DELETEs of the subnet, which goes with its network", n)
	}
}

// TestAllAtOnce: everything is deleted at once, the used before its users. The group takes all along.
func TestAllAtOnce(t *testing.T) {
	w := newWorld(t)
	w.apply(group("rg"), vnet("net", "rg"), subnet("front", "net"), nic("card", "rg", "{kubernetes: {name: front}}"))
	w.ready("nic/card")
	w.resetCalls()
	w.delete("subnet/front", "rg/rg", "nic/card", "vnet/net")
	w.gone("nic/card", "subnet/front", "vnet/net", "rg/rg")
	w.inCloud()
	w.noneRefused()
	if n := w.cloud.CallCount("DELETE"); n != 1 {
		t.Errorf("%d DELETEs, want 1: %v", n, w.cloud.Calls())
	}
	for _, kind := range []string{"vnet", "subnet", "nic"} {
		if n := w.calls("GET", kind); n > 1 {
			t.Errorf("%d GETs of %s, want at most 1", n, kind)
		}
	}
}

// TestOwnerRecreated: what belonged to an owner that was deleted and created anew at once is deleted, in
// Kubernetes and in Azure. The new owner has nothing.
func TestOwnerRecreated(t *testing.T) {
	w := newWorld(t)
	w.apply(group("rg"), vnet("net", "rg"), subnet("front", "net"))
	w.ready("subnet/front")
	former := w.get("rg", "rg").GetUID()
	w.delete("rg/rg")
	w.gone("rg/rg")
	w.apply(group("rg"))
	w.gone("vnet/net", "subnet/front")
	w.ready("rg/rg")
	w.inCloud("rg")
	if w.get("rg", "rg").GetUID() == former {
		t.Error("the group is the former one")
	}
}

// TestAzureForm: references and owners that are no objects are named in the Azure form, also in another
// subscription. The form is checked against the type that the field allows.
func TestAzureForm(t *testing.T) {
	w := newPromptWorld(t)
	const other = "99999999-2222-3333-4444-555555555555"
	const elsewhere = "/subscriptions/" + other + "/resourceGroups/Theirs"
	w.exists(elsewhere, "2018-05-01", map[string]any{"location": "westeurope"})
	w.exists(elsewhere+"/providers/Microsoft.Network/virtualNetworks/net", "2020-03-01", map[string]any{
		"location": "westeurope", "properties": map[string]any{
			"addressSpace": map[string]any{"addressPrefixes": []any{"10.0.0.0/16"}},
		},
	})
	w.exists(elsewhere+"/providers/Microsoft.Network/virtualNetworks/net/subnets/front", "2020-03-01", map[string]any{
		"properties": map[string]any{"addressPrefix": "10.0.1.0/24"},
	})
	azureForm := func(name string) string {
		return "{azure: {subscription: " + other + ", resourceGroup: theirs, name: " + name + "}}"
	}
	w.apply(group("rg"), nic("card", "rg", azureForm("microsoft.network/virtualnetworks/net/subnets/front")))
	w.ready("nic/card")
	w.apply(nic("wrong", "rg", azureForm("Microsoft.Network/virtualNetworks/net")))
	w.says("nic/wrong", "False InvalidConfiguration spec.ipConfigurations[0].subnet: ")
	w.says("nic/wrong", "is a Microsoft.Network/virtualNetworks, want a Microsoft.Network/virtualNetworks/subnets")
	w.refused(nic("both", "rg", "{kubernetes: {name: front}, azure: {name: x}}"), "exactly one of kubernetes, azure, self")
	w.refused(nic("kind", "rg", "{kubernetes: {name: front, kind: RouteTable}}"),
		`supported values: "VirtualNetworksSubnet"`)
	w.refused(subnet("orphan", ""), "spec.ownerRef: Required value")

	owned := func(name, owner string) string {
		return manifest("vnet", name, "", "location: westeurope, ownerRef: "+owner)
	}
	w.apply(owned("theirs", "{azure: {subscription: "+other+", resourceGroup: theirs}}"),
		owned("nowhere", "{azure: {resourceGroup: later}}"),
		owned("mistaken", "{azure: {resourceGroup: rg, name: Microsoft.Network/routeTables/t}}"))
	w.ready("vnet/theirs")
	w.says("vnet/nowhere", "False WaitingForOwner Waiting for /subscriptions/"+w.subscription+
		"/resourceGroups/later to be created in Azure")
	w.says("vnet/mistaken", "False InvalidConfiguration spec.ownerRef is the Microsoft.Network/routeTables")
	w.exists("/subscriptions/"+w.subscription+"/resourceGroups/later", "2018-05-01",
		map[string]any{"location": "westeurope"})
	w.ready("vnet/nowhere")
}

// exists creates a resource in the cloud as another client of Azure would.
func (w *world) exists(id, version string, body map[string]any) {
	w.T.Helper()
	parsed, err := azure.ParseID(id)
	if err != nil {
		w.T.Fatal(err)
	}
	other, err := azure.NewClient(azure.Options{Endpoint: w.cloud.URL()})
	if err != nil {
		w.T.Fatal(err)
	}
	answer, err := other.Put(w.T.Context(), parsed, version, body, azure.Condition{})
	if err != nil {
		w.T.Fatal(err)
	}
	for answer.Operation != nil {
		testenv.Eventually(w.T, func() error {
			answer, err = other.Poll(w.T.Context(), *answer.Operation)
			return err
		})
	}
}

// TestDependentsByLabel: kubectl lists all subnets of a network by a label.
func TestDependentsByLabel(t *testing.T) {
	w := newPromptWorld(t)
	w.apply(group("rg"), vnet("net", "rg"), vnet("other", "rg"), subnet("one", "net"), subnet("two", "net"),
		subnet("three", "other"))
	w.ready("subnet/one", "subnet/two", "subnet/three")
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kindOf("subnet").GroupVersionKind())
	err := w.C.List(context.WithoutCancel(t.Context()), list, client.InNamespace(w.NS),
		client.MatchingLabels{"azure.kinship.dev/owner-name": "net"})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	if slices.Sort(names); !slices.Equal(names, []string{"one", "two"}) {
		t.Errorf("subnets of net: %v", names)
	}
}

// TestForeground: with foreground deletion the dependents go first, one by one, and the owner waits.
func TestForeground(t *testing.T) {
	w := newWorld(t)
	w.apply(group("rg"), vnet("net", "rg"), subnet("front", "net"))
	w.ready("subnet/front")
	w.resetCalls()
	foreground := client.PropagationPolicy(metav1.DeletePropagationForeground)
	if err := w.C.Delete(t.Context(), w.blank("rg", "rg"), foreground); err != nil {
		t.Fatal(err)
	}
	w.gone("subnet/front", "vnet/net", "rg/rg")
	w.inCloud()
	w.noneRefused()
	if n := w.cloud.CallCount("DELETE"); n != 3 {
		t.Errorf("%d DELETEs, want 3", n)
	}
}
