package azure_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// unusual are names that Azure refuses, or that an address could carry to another resource.
var unusual = []string{
	"../neighbour", "x/../neighbour", "x/providers/Microsoft.Network/virtualNetworks/neighbour", "..", ".",
	"%2e%2e%2fneighbour", "neighbour%2f", "neighbour?x=", "neighbour#x", "neighbour.", `..\neighbour`, "neighbour//",
	" neighbour", "neighbour ", "neigh\nbour", "neigh\tbour", "neigh\u0000bour", "neigh\u200dbour\u0085", "<neighbour>",
}

// TestNamesAzureRefuses: a name that Azure would refuse, as a resource's own name, in an owner, in a reference or
// in an import, leads to no request. The API server or the condition says why.
func TestNamesAzureRefuses(t *testing.T) {
	w := newPromptWorld(t)
	w.apply(group("rg"), vnet("neighbour", "rg"))
	w.ready("vnet/neighbour")
	before := w.get("vnet", "neighbour").Object["status"].(map[string]any)["resource"]
	w.resetCalls()
	var accepted []string
	n := 0
	try := func(kind, fields string) {
		n++
		name := fmt.Sprintf("bad%d", n)
		if _, err := testenv.TryApply(t, manifest(kind, name, "", fields), testenv.In(w.NS)); err == nil {
			accepted = append(accepted, kind+"/"+name)
		} else if !strings.Contains(err.Error(), "spec.") && !strings.Contains(err.Error(), "YAML") {
			t.Errorf("%s with %s: refused without the field: %v", kind, fields, err)
		}
	}
	prefix := "/subscriptions/" + w.subscription + "/resourceGroups/"
	const place = "location: westeurope, "
	for _, name := range unusual {
		q := fmt.Sprintf("%q", name)
		try("vnet", place+"ownerRef: {kubernetes: {name: rg}}, azureName: "+q)
		try("rg", place+"azureName: "+q)
		try("table", place+"ownerRef: {azure: {resourceGroup: "+q+"}}")
		try("table", place+"ownerRef: {azure: {name: "+fmt.Sprintf("%q", prefix+name)+"}}")
		try("subnet", "ownerRef: {azure: {resourceGroup: rg, name: "+
			fmt.Sprintf("%q", "Microsoft.Network/virtualNetworks/"+name)+"}}")
		try("rg", place+"import: {id: "+fmt.Sprintf("%q", prefix+name)+"}")
		try("nic", place+"ownerRef: {kubernetes: {name: rg}}, ipConfigurations: [{name: a, subnet: {azure: {name: "+
			fmt.Sprintf("%q", "Microsoft.Network/virtualNetworks/neighbour/subnets/"+name)+"}}}]")
	}
	for _, one := range accepted {
		w.says(one, "False InvalidConfiguration")
		kind, name := split(one)
		u := w.get(kind, name)
		field := "spec."
		if azureName, _, _ := unstructured.NestedString(u.Object, "spec", "azureName"); azureName != "" {
			field = "spec.azureName: the name "
		}
		if says := readyOf(u); strings.Contains(says, `id ""`) || !strings.Contains(says, field) {
			t.Errorf("%s doesn't say what is wrong: %s", one, says)
		}
	}
	t.Logf("%d of %d were left to the operator", len(accepted), n)
	for _, one := range accepted {
		w.delete(one)
	}
	w.gone(accepted...)
	// The group may be read again when what it owns changes.
	if calls, own := w.cloud.CallCount(""), w.cloud.CallsFor(w.id("rg/rg"))["GET"]; calls != own {
		t.Errorf("requests were sent: %v", w.cloud.Calls())
	}
	w.inCloud("rg", "neighbour")
	w.edit("vnet/neighbour", `{"spec":{"resyncPeriod":"1h"}}`)
	w.ready("vnet/neighbour")
	after := w.get("vnet", "neighbour").Object["status"].(map[string]any)["resource"]
	if fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the neighbour was %v, and is %v", before, after)
	}
}

// TestOneResourceTwoNames: names that differ in case only are those of one resource. Of two objects that are created
// at once, one has the resource, and the other is refused, with an import too. Its deletion leaves the
// resource alone.
func TestOneResourceTwoNames(t *testing.T) {
	w := newPromptWorld(t)
	w.apply(group("rg"))
	w.ready("rg/rg")
	named := func(object, name, fields string) string {
		return manifest("vnet", object, "rg", "location: westeurope, azureName: "+name+
			", addressSpace: {addressPrefixes: [10.0.0.0/16]}"+fields)
	}
	w.apply(named("one", "Net", ""), named("two", "nEt", ""), named("three", "Net", ""))
	names := map[string]string{}
	testenv.Eventually(t, func() error {
		var ready, refused int
		for _, name := range []string{"one", "two", "three"} {
			names[name] = readyOf(w.get("vnet", name))
			if strings.HasPrefix(names[name], "True") {
				ready++
			}
			if strings.Contains(names[name], "exists already, and this object did not create it") {
				refused++
			}
		}
		if ready != 1 || refused != 2 {
			return fmt.Errorf("the networks say %v", names)
		}
		return nil
	})
	w.apply(named("four", "NET", ", import: {}"))
	w.says("vnet/four", "belongs to another object already")
	if n := w.calls("PUT", "vnet"); n != 1 {
		t.Errorf("%d PUTs, want 1", n)
	}
	w.delete("vnet/four")
	w.gone("vnet/four")
	for name, says := range names {
		if !strings.HasPrefix(says, "True") {
			w.delete("vnet/" + name)
			w.gone("vnet/" + name)
		}
	}
	created := "Net"
	if strings.HasPrefix(names["two"], "True") {
		created = "nEt"
	}
	w.inCloud("rg", created)
	if n := w.calls("DELETE", "vnet"); n != 0 {
		t.Errorf("%d DELETEs, want none", n)
	}
}

// TestOwnerElsewhere: an owner, and a target of a reference, in another namespace is not found.
func TestOwnerElsewhere(t *testing.T) {
	w := newPromptWorld(t)
	elsewhere := testenv.Namespace(t)
	testenv.Apply(t, group("theirs"), testenv.In(elsewhere))
	theirs := w.blank("rg", "theirs")
	theirs.SetNamespace(elsewhere)
	testenv.Eventually(t, func() error {
		if err := w.Read(theirs); err != nil {
			return err
		}
		if says := readyOf(theirs); !strings.HasPrefix(says, "True") {
			return fmt.Errorf("the group says %s", says)
		}
		return nil
	})
	w.apply(vnet("net", "theirs"))
	w.says("vnet/net", "False WaitingForOwner Waiting for ResourceGroup/theirs to be created")
	w.refused(manifest("vnet", "other", "", "location: westeurope, ownerRef: {kubernetes: {name: theirs, namespace: "+
		elsewhere+"}}"), "namespace")
	w.inCloud("theirs")
	w.Delete(theirs)
	w.Gone(theirs)
}

// TestKindNotEnabled: a manifest of a kind that isn't enabled is refused by the API server, and the condition of an
// object that refers to such an object names the kind.
func TestKindNotEnabled(t *testing.T) {
	w := newPromptWorld(t)
	w.apply(group("rg"), vnet("net", "rg"), subnet("front", "net", "serviceEndpointPolicies: [{kubernetes: {name: p}}]"))
	w.says("subnet/front", "the kind ServiceEndpointPolicy.microsoft.network.infra.azure.com is not installed")
	w.ready("vnet/net")
	policy := manifest("Microsoft.Network/serviceEndpointPolicies", "p", "rg", "location: westeurope")
	_, err := testenv.TryApply(t, policy, testenv.In(w.NS))
	if err == nil || !strings.Contains(err.Error(), `no matches for kind "ServiceEndpointPolicy"`) {
		t.Errorf("answered with %v", err)
	}
}

// TestHugeBodies: an object that is too large is refused by the API server, and a huge body of Azure leaves the
// object usable. The operator goes on.
func TestHugeBodies(t *testing.T) {
	w := newPromptWorld(t)
	huge := strings.Repeat("x", 3<<20)
	if _, err := testenv.TryApply(t, manifest("rg", "huge", "", "location: "+huge), testenv.In(w.NS)); err == nil {
		t.Error("an object of 3 MB was accepted")
	}
	w.apply(group("rg"))
	w.ready("rg/rg")
	id := w.id("rg/rg").String() + "/providers/Microsoft.Network/routeTables/table"
	w.exists(id, "2020-03-01", map[string]any{
		"location": "westeurope", "properties": map[string]any{"magic": huge, "disableBgpRoutePropagation": true},
	})
	w.apply(manifest("table", "table", "rg", "location: westeurope, disableBgpRoutePropagation: true, import: {}"))
	w.ready("table/table")
	shown, _, _ := unstructured.NestedMap(w.get("table", "table").Object, "status", "resource", "properties")
	if len(shown) != 1 || shown["provisioningState"] != "Succeeded" {
		t.Errorf("the status shows %d properties: %.200v", len(shown), shown)
	}
	w.delete("table/table")
	w.gone("table/table")
	w.inCloud("rg")
}
