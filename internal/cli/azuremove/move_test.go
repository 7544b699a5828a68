package azuremove_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cli/azuremove"
	azurecloud "github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
)

const subscription = "11111111-2222-3333-4444-555555555555"

func all(t *testing.T) *catalogue.Catalogue {
	t.Helper()
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// TestImportRender: an imported body is rendered exactly as it was, and names its owner.
func TestImportRender(t *testing.T) {
	const in = "/subscriptions/" + subscription + "/resourceGroups/RG/providers/Microsoft.Network/"
	for id, text := range map[string]string{
		in + "virtualNetworks/Net_1": `{"name":"Net_1","location":"westeurope","tags":null,"properties":{"addressSpace":
			{"addressPrefixes":["10.0.0.0/16"]},"newest":{"a":[1,null]},"subnets":[{"name":"s","properties":{}}]}}`,
		in + "virtualNetworks/net/subnets/s": `{"properties":{"addressPrefix":"10.0.0.0/24",
			"routeTable":{"id":"` + in + `routeTables/t"}}}`,
		"/subscriptions/" + subscription + "/resourceGroups/rg": `{"location":"westeurope"}`,
	} {
		parsed, err := azurecloud.ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		body := parse(t, text)
		obj, _, err := azuremove.Import(all(t).Default(parsed.Type()), parsed, body, true)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		m := azure.Manifests{Kinds: all(t), Objects: testenv.Documents(t, stored)}
		requests, err := m.Render()
		if err != nil || len(requests) != 1 {
			t.Fatalf("%s: %d requests, %v", id, len(requests), err)
		}
		if diff := cmp.Diff(jsonOf(t, body), jsonOf(t, requests[0].Body)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", id, diff)
		}
		if requests[0].ID != id || requests[0].Method != http.MethodGet {
			t.Errorf("%s %s, want GET %s", requests[0].Method, requests[0].ID, id)
		}
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

// TestCounterparts: each kind of Azure Service Operator v2 has a kind of the catalogue, but for three types that the
// catalogue does not have.
func TestCounterparts(t *testing.T) {
	text, err := os.ReadFile("counterparts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for line := range strings.Lines(string(text)) {
		name, armType, _ := strings.Cut(strings.TrimSpace(line), "\t")
		kind, group, _ := strings.Cut(name, ".")
		other := &unstructured.Unstructured{}
		other.SetAPIVersion(group + "/v1")
		other.SetKind(kind)
		ours, _, err := azuremove.Convert(all(t), other)
		switch {
		case err != nil:
			missing = append(missing, armType)
		case !strings.EqualFold(all(t).Find(ours.GroupVersionKind()).Type, armType):
			t.Errorf("%s became %s", name, ours.GroupVersionKind())
		}
	}
	const openshift = "Microsoft.RedHatOpenShift/hcpOpenShiftClusters"
	if diff := cmp.Diff([]string{openshift, openshift + "/externalAuths", openshift + "/nodePools"}, missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if n := strings.Count(string(text), "\n"); n != 290 {
		t.Errorf("%d kinds, want 290", n)
	}
}

// TestConvert: manifests of Azure Service Operator v2 become ours, with owners and references. What has no
// counterpart is told.
func TestConvert(t *testing.T) {
	for name, c := range map[string]struct {
		theirs, ours string
		left         []string
	}{
		"resource group": {
			`{"apiVersion":"resources.azure.com/v1api20200601","kind":"ResourceGroup","metadata":{"name":"rg"},
			"spec":{"location":"westeurope"}}`,
			`{"location":"westeurope"}`, nil,
		},
		"a kind that the list of kinds lacks": {
			`{"apiVersion":"network.azure.com/v1api20201101","kind":"VirtualNetworkTap","metadata":{"name":"t"},
			"spec":{"location":"westeurope"}}`,
			`{"location":"westeurope"}`, nil,
		},
		"subnet": {
			`{"apiVersion":"network.azure.com/v1api20201101","kind":"VirtualNetworksSubnet","metadata":{"name":"s"},
			"spec":{"owner":{"name":"net"},"azureName":"front","addressPrefix":"10.0.0.0/24","magic":1,
			"routeTable":{"reference":{"group":"network.azure.com","kind":"RouteTable","name":"t"}}}}`,
			`{"ownerRef":{"kubernetes":{"name":"net"}},"azureName":"front","addressPrefix":"10.0.0.0/24",
			"routeTable":{"kubernetes":{"name":"t"}}}`,
			[]string{"magic: this api-version has no such field"},
		},
		"secret, in an object called properties": {
			`{"apiVersion":"sql.azure.com/v1api20211101","kind":"Server","metadata":{"name":"db"},
			"spec":{"owner":{"name":"rg"},"properties":{"administratorLogin":"boss",
			"administratorLoginPassword":{"name":"sql","key":"password"}},"operatorSpec":{"secrets":{}}}}`,
			`{"ownerRef":{"kubernetes":{"name":"rg"}},"administratorLogin":"boss",
			"administratorLoginPassword":{"name":"sql","key":"password"}}`,
			[]string{"operatorSpec: write values of the resource into Secrets and ConfigMaps yourself"},
		},
		"a password": {
			`{"apiVersion":"sql.azure.com/v1api20211101","kind":"Server","metadata":{"name":"db"},
			"spec":{"owner":{"name":"rg"},"administratorLoginPassword":"hunter2"}}`,
			`{"ownerRef":{"kubernetes":{"name":"rg"}}}`,
			[]string{"administratorLoginPassword: a secret: name a Secret and a key in it"},
		},
		"by ARM id": {
			`{"apiVersion":"network.azure.com/v1api20201101","kind":"RouteTable","metadata":{"name":"t",
			"annotations":{"serviceoperator.azure.com/reconcile-policy":"detach-on-delete"}},
			"spec":{"owner":{"armId":"/subscriptions/` + subscription + `/resourceGroups/rg"},"location":"westeurope"}}`,
			`{"ownerRef":{"azure":{"subscription":"` + subscription + `","resourceGroup":"rg"}},"location":"westeurope",
			"managedOptions":{"onDelete":"detach"}}`,
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			ours, left, err := azuremove.Convert(all(t), &unstructured.Unstructured{Object: parse(t, c.theirs)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, c.ours), ours.Object["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.left, left); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
	for _, kind := range []string{"Nothing", "FlexibleServersUser"} {
		other := &unstructured.Unstructured{}
		other.SetAPIVersion("network.azure.com/v1api20201101")
		other.SetKind(kind)
		if _, _, err := azuremove.Convert(all(t), other); err == nil {
			t.Errorf("%s is converted", kind)
		}
	}
}
