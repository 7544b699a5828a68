package azure_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
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

// TestRender: the requests for the example are printed from the files alone. What is in no file is named.
func TestRender(t *testing.T) {
	objects := make([]*unstructured.Unstructured, 0, 12)
	for _, file := range []string{"stack", "group"} {
		text, err := os.ReadFile("../../../examples/azure/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, testenv.Documents(t, text)...)
	}
	m := azure.Manifests{Kinds: all(t), Objects: objects, Subscription: subscription}
	requests, err := m.Render()
	if err != nil || len(requests) != len(objects) {
		t.Fatalf("%d requests for %d objects: %v", len(requests), len(objects), err)
	}
	const in = "/subscriptions/" + subscription + "/resourceGroups/shop/providers/Microsoft.Network/"
	for _, r := range requests {
		switch r.Object {
		case "VirtualNetworksSubnet/front":
			want := azure.Request{
				Object: r.Object, Method: "PUT", ID: in + "virtualNetworks/internal/subnets/front", APIVersion: "2020-03-01",
				Body: map[string]any{"properties": map[string]any{
					"addressPrefix":        "10.0.1.0/24",
					"routeTable":           map[string]any{"id": in + "routeTables/ways"},
					"networkSecurityGroup": map[string]any{"id": in + "networkSecurityGroups/wall"},
				}},
			}
			if diff := cmp.Diff(want, r); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		case "LoadBalancer/entrance":
			rules, _, _ := unstructured.NestedSlice(r.Body, "properties", "loadBalancingRules")
			id, _, _ := unstructured.NestedString(rules[0].(map[string]any), "properties", "probe", "id")
			if id != in+"loadBalancers/entrance/probes/http" {
				t.Errorf("the probe is %q", id)
			}
		}
	}
	m.Objects = objects[:1]
	const unknown = "the id of the owner ResourceGroup/shop isn't known"
	if _, err := m.Render(); err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("a missing owner: %v", err)
	}
}
