package azure

import (
	"encoding/json"
	"errors"
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

// objectOf returns an object of a kind, with a spec in JSON.
func objectOf(t *testing.T, k *kind, name, spec string) *external.Unstructured {
	t.Helper()
	u := external.NewUnstructured(k.GroupVersionKind())
	if err := u.UnmarshalJSON([]byte(`{"apiVersion":"` + k.Group + "/" + k.Version + `","kind":"` + k.Kind + `",` +
		`"metadata":{"name":"` + name + `"},"spec":` + spec + `}`)); err != nil {
		t.Fatal(err)
	}
	return u
}

// network is a VirtualNetwork in resource group rg, with a spec in JSON.
func network(t *testing.T, spec string) *desired {
	t.Helper()
	k := kindOf(t, "Microsoft.Network/virtualNetworks")
	return newDesired(k, objectOf(t, k, "net", spec), "11111111-2222-3333-4444-555555555555",
		func(gk schema.GroupKind, name string) string {
			if gk.Kind != "ResourceGroup" {
				return ""
			}
			return "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/" + name
		})
}

// TestPreserve: the children in the body of a resource are sent along, unless the spec has them.
func TestPreserve(t *testing.T) {
	k := kindOf(t, "Microsoft.Network/virtualNetworks")
	live := parse(t, `{"properties":{"subnets":[{"name":"a"}],"virtualNetworkPeerings":[],"other":1}}`)
	body := parse(t, `{"properties":{"addressSpace":{}}}`)
	want := parse(t, `{"properties":{"addressSpace":{},"subnets":[{"name":"a"}],"virtualNetworkPeerings":[]}}`)
	if diff := cmp.Diff(want, k.preserve(body, live)); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(parse(t, `{"properties":{"addressSpace":{}}}`), body); diff != "" {
		t.Errorf("the body was changed (-want +got):\n%s", diff)
	}
	own := k.preserve(parse(t, `{"properties":{"subnets":[{"name":"mine"}]}}`), live)
	if diff := cmp.Diff(`[{"name":"mine"}]`, jsonOf(t, own["properties"].(map[string]any)["subnets"])); diff != "" {
		t.Errorf("subnets (-want +got):\n%s", diff)
	}
}

// TestToSend: values of an exactly imported body that ARM sets, and children of the resource, are not sent.
func TestToSend(t *testing.T) {
	d := network(t, `{"ownerRef":{"kubernetes":{"name":"rg"}},"location":"westeurope","raw":[
		{"path":"/id","value":"x"},{"path":"/name","value":"x"},{"path":"/type","value":"x"},{"path":"/etag","value":"x"},
		{"path":"/properties/provisioningState","value":"Succeeded"},{"path":"/properties/subnets","value":[]},
		{"path":"/properties/odd","value":null}]}`)
	body, err := d.body()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"location":"westeurope","properties":{"odd":null}}`, jsonOf(t, body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// TestReadOnlyIsNoDrift: a field that Azure alone writes, and a secret, are no difference, whatever the spec says.
func TestReadOnlyIsNoDrift(t *testing.T) {
	k := kindOf(t, "Microsoft.Network/virtualWans")
	const rg = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg"
	const id = rg + "/providers/Microsoft.Network/virtualWans/wan"
	obj := objectOf(t, k, "wan", `{"ownerRef":{"kubernetes":{"name":"rg"}},"allowBranchToBranchTraffic":true,
		"office365LocalBreakoutCategory":"All"}`)
	d := newDesired(k, obj, "", func(schema.GroupKind, string) string { return rg })
	live := func(text string) *resource { return &resource{ID: id, Body: parse(t, text), desired: d} }
	same := live(`{"properties":{"allowBranchToBranchTraffic":true,"office365LocalBreakoutCategory":"None"}}`)
	if got := same.differs(); got != nil {
		t.Errorf("differs in %v", got)
	}
	other := live(`{"properties":{"allowBranchToBranchTraffic":false,"office365LocalBreakoutCategory":"None"}}`)
	if diff := cmp.Diff([]string{"properties.allowBranchToBranchTraffic"}, other.differs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOwnerOnce: all that a pass needs of an object asks once for the id of the owner.
func TestOwnerOnce(t *testing.T) {
	d := network(t, `{"ownerRef":{"kubernetes":{"name":"rg"}}}`)
	calls, id := 0, d.id
	d.id = func(gk schema.GroupKind, name string) string {
		calls++
		return id(gk, name)
	}
	_, noAddress := d.address()
	_, noBody := d.body()
	_, noOwner := d.ownerID()
	if err := errors.Join(noAddress, noBody, noOwner, d.checkReferences(), d.checkAddress()); err != nil || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

// TestForeignKinds: a reference to an object that is no resource of Azure is refused, and is no edge: an edge
// keeps its target from being deleted.
func TestForeignKinds(t *testing.T) {
	k := kindOf(t, "Microsoft.Network/dnsZones")
	zone := func(reference string) *desired {
		spec := `{"registrationVirtualNetworks":[{"kubernetes":` + reference + `}]}`
		return newDesired(k, objectOf(t, k, "z", spec), "", nil)
	}
	d := zone(`{"group":"","kind":"Secret","name":"hidden"}`)
	const want = `spec.registrationVirtualNetworks[0]: no kind of Azure resources is called Secret in the group ""`
	if err := d.checkReferences(); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	for _, r := range k.relations() {
		if edges := r.Extract(d.object, nil); len(edges) > 0 {
			t.Errorf("edges %v", edges)
		}
	}
	d = zone(`{"group":"microsoft.network.infra.azure.com","kind":"VirtualNetwork","name":"net"}`)
	if err := d.checkReferences(); err != nil {
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

// TestOwnerOfScopes: the refusal names all types of owners that a kind of several scopes may have.
func TestOwnerOfScopes(t *testing.T) {
	k := kindOf(t, "Microsoft.Network/virtualNetworks")
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

// TestAddress: the id of an object follows from its owner, in both forms, and an owner of another type is
// refused.
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
			id, err := network(t, c.spec).address()
			if c.problem == "" && (err != nil || id.String() != c.id) {
				t.Errorf("id %s, error %v; want %s", id, err, c.id)
			}
			if c.problem != "" && (err == nil || err.Error() != c.problem) {
				t.Errorf("error %v, want %s", err, c.problem)
			}
		})
	}
}
