package azuremove_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/cli/azuremove"
	azurecloud "github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	"github.com/kinship-dev/kinship/internal/pack/azure"
)

// TestImportOfAnotherBody: the body of one resource is not imported under the id of another one.
func TestImportOfAnotherBody(t *testing.T) {
	const network = "/subscriptions/" + subscription + "/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/"
	k := all(t).Default("Microsoft.Network/virtualNetworks")
	id, err := azurecloud.ParseID(network + "one")
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range map[string]string{
		"ONE": "",
		"two": "the body is of " + network + "two, want the body of " + network + "one",
	} {
		said := ""
		if _, _, err := azuremove.Import(k, id, map[string]any{"id": network + of}, true); err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("the body of %s: got %q, want %q", of, said, want)
		}
	}
}

// TestImportNames: each resource of an import gets an object of its own, also if two resources have one name, or
// names that objects can't tell apart. Rendered, each object is that resource.
func TestImportNames(t *testing.T) {
	server, err := emulator.Start(emulator.Options{BuildTime: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	cloud, err := azurecloud.NewClient(azurecloud.Options{Endpoint: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	const group = "/subscriptions/" + subscription + "/resourceGroups/rg"
	ids := append(make([]string, 0, 9), group)
	put := func(id, version, body string) azurecloud.ID {
		parsed, err := azurecloud.ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cloud.Put(t.Context(), parsed, version, parse(t, body), azurecloud.Condition{}); err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	root := put(group, "2018-05-01", `{"location":"westeurope"}`)
	for i, name := range []string{"one", "two", "a-b", "a_b"} {
		network := group + "/providers/Microsoft.Network/virtualNetworks/" + name
		put(network, "2020-03-01", fmt.Sprintf(
			`{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.%d.0.0/16"]}}}`, i))
		put(network+"/subnets/default", "2020-03-01", fmt.Sprintf(`{"properties":{"addressPrefix":"10.%d.0.0/24"}}`, i))
		ids = append(ids, network, network+"/subnets/default")
	}
	var objects []*unstructured.Unstructured
	names := map[string]bool{}
	err = azuremove.Importer{
		Kinds: all(t), Cloud: cloud, Types: []string{"Microsoft.Network/virtualNetworks"},
		Write: func(u *unstructured.Unstructured) error {
			objects = append(objects, u)
			names[u.GetKind()+"/"+u.GetName()] = true
			return nil
		},
		Tell: t.Logf,
	}.Import(t.Context(), root)
	if err != nil || len(names) != len(ids) {
		t.Fatalf("%d names for %d resources: %v, %v", len(names), len(ids), names, err)
	}
	for _, u := range objects { // The address has to be that of spec.import.
		unstructured.RemoveNestedField(u.Object, "spec", "import")
	}
	m := azure.Manifests{Kinds: all(t), Objects: objects, Subscription: subscription}
	requests, err := m.Render()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(requests))
	for _, r := range requests {
		got = append(got, r.ID)
	}
	slices.Sort(got)
	slices.Sort(ids)
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}
