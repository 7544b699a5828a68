package azure

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/external"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// network is a VirtualNetwork in resource group rg, with a spec in JSON.
func network(t *testing.T, spec, status string) (*kind, setting) {
	t.Helper()
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	of := all.Default("Microsoft.Network/virtualNetworks")
	definition, err := of.Definition()
	if err != nil {
		t.Fatal(err)
	}
	u := external.NewUnstructured(of.GroupVersionKind())
	if err := u.UnmarshalJSON([]byte(`{"apiVersion":"` + of.Group + "/" + of.Version + `","kind":"VirtualNetwork",` +
		`"metadata":{"name":"net"},"spec":` + spec + `,"status":` + status + `}`)); err != nil {
		t.Fatal(err)
	}
	return &kind{entry: of, all: all, definition: definition}, setting{
		object: u, subscription: "11111111-2222-3333-4444-555555555555",
		id: func(gk schema.GroupKind, name string) string {
			if gk.Kind != "ResourceGroup" {
				return ""
			}
			return "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/" + name
		},
	}
}

// TestPreserve: the children in the body of a resource are sent along, unless the spec has them.
func TestPreserve(t *testing.T) {
	k, _ := network(t, `{}`, `{}`)
	live := parse(t, `{"properties":{"subnets":[{"name":"a"}],"virtualNetworkPeerings":[],"other":1}}`)
	body := parse(t, `{"properties":{"addressSpace":{}}}`)
	k.preserve(body, live)
	want := parse(t, `{"properties":{"addressSpace":{},"subnets":[{"name":"a"}],"virtualNetworkPeerings":[]}}`)
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	own := parse(t, `{"properties":{"subnets":[{"name":"mine"}]}}`)
	k.preserve(own, live)
	if diff := cmp.Diff(`[{"name":"mine"}]`, jsonOf(t, own["properties"].(map[string]any)["subnets"])); diff != "" {
		t.Errorf("subnets (-want +got):\n%s", diff)
	}
}

// TestToSend: values of an exactly imported body that ARM sets, and children of the resource, are not sent.
func TestToSend(t *testing.T) {
	k, s := network(t, `{"ownerRef":{"kubernetes":{"name":"rg"}},"location":"westeurope","raw":[
		{"path":"/id","value":"x"},{"path":"/name","value":"x"},{"path":"/type","value":"x"},{"path":"/etag","value":"x"},
		{"path":"/properties/provisioningState","value":"Succeeded"},{"path":"/properties/subnets","value":[]},
		{"path":"/properties/odd","value":null}]}`, `{}`)
	body, err := k.toSend(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"location":"westeurope","properties":{"odd":null}}`, jsonOf(t, body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// TestForeignKinds: a reference to an object that is no resource of Azure is refused, and is no edge: an edge
// keeps its target from being deleted.
func TestForeignKinds(t *testing.T) {
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	of := all.Default("Microsoft.Network/dnsZones")
	definition, err := of.Definition()
	if err != nil {
		t.Fatal(err)
	}
	zone := func(reference string) (*kind, setting) {
		u := external.NewUnstructured(of.GroupVersionKind())
		text := `{"apiVersion":"` + of.Group + "/" + of.Version + `","kind":"` + of.Kind + `","metadata":{"name":"z"},` +
			`"spec":{"registrationVirtualNetworks":[{"kubernetes":` + reference + `}]}}`
		if err := u.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return &kind{entry: of, all: all, definition: definition}, setting{object: u}
	}
	k, s := zone(`{"group":"","kind":"Secret","name":"hidden"}`)
	const want = `spec.registrationVirtualNetworks[0]: no kind of Azure resources is called Secret in the group ""`
	if err := k.checkReferences(s); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	for _, r := range k.relations() {
		if edges := r.Extract(s.object, nil); len(edges) > 0 {
			t.Errorf("edges %v", edges)
		}
	}
	k, s = zone(`{"group":"microsoft.network.infra.azure.com","kind":"VirtualNetwork","name":"net"}`)
	if err := k.checkReferences(s); err != nil {
		t.Errorf("a VirtualNetwork is refused: %v", err)
	}
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAddress: the id of an object follows from its owner, in both forms, and an owner of another type is
// refused.
// TestOwnerOfScopes: the refusal names all types of owners that a kind of several scopes may have.
func TestOwnerOfScopes(t *testing.T) {
	k, _ := network(t, `{}`, `{}`)
	of := *k.entry
	of.Owner, of.Scopes = "", catalogue.SubscriptionScope|catalogue.ManagementGroupScope
	k.entry = &of
	id, err := azure.ParseID("/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg")
	if err != nil {
		t.Fatal(err)
	}
	want := "has to be a Microsoft.Resources/subscriptions or Microsoft.Management/managementGroups"
	if err := k.checkOwner(id); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAddress(t *testing.T) {
	const in = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/"
	for name, c := range map[string]struct{ spec, id, problem string }{
		"by name": {
			`{"ownerRef":{"kubernetes":{"name":"rg"}}}`, in + "rg/providers/Microsoft.Network/virtualNetworks/net", "",
		},
		"another name": {
			`{"azureName":"Net","ownerRef":{"kubernetes":{"name":"rg"}}}`,
			in + "rg/providers/Microsoft.Network/virtualNetworks/Net", "",
		},
		"azure form": {
			`{"ownerRef":{"azure":{"resourceGroup":"there"}}}`,
			in + "there/providers/Microsoft.Network/virtualNetworks/net", "",
		},
		"another type": {
			`{"ownerRef":{"azure":{"resourceGroup":"rg","name":"Microsoft.Network/routeTables/t"}}}`, "",
			"spec.ownerRef is the Microsoft.Network/routeTables " + in + "rg/providers/Microsoft.Network/routeTables/t, " +
				"and the owner of a VirtualNetwork has to be a Microsoft.Resources/resourceGroups",
		},
		"missing owner": {
			`{"ownerRef":{"kubernetes":{"name":"x","kind":"Team","group":"example.org"}}}`, "",
			"the id of the owner Team/x isn't known",
		},
		"none": {`{}`, "", "spec.ownerRef is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			k, s := network(t, c.spec, `{}`)
			id, err := k.address(s)
			if c.problem == "" && (err != nil || id.String() != c.id) {
				t.Errorf("id %s, error %v; want %s", id, err, c.id)
			}
			if c.problem != "" && (err == nil || err.Error() != c.problem) {
				t.Errorf("error %v, want %s", err, c.problem)
			}
		})
	}
}
