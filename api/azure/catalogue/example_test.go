package catalogue_test

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

func show(value any) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, string(text))
}

// A subnet refers to a route table in Kubernetes. The operator knows the ARM id of the route table.
func ExampleKind_ToARM() {
	all, err := catalogue.Embedded()
	if err != nil {
		panic(err)
	}
	subnet := all.Default("Microsoft.Network/virtualNetworks/subnets")
	spec := map[string]any{
		"azureName": "web", "addressPrefix": "10.0.0.0/24",
		"ownerRef":   map[string]any{"kubernetes": map[string]any{"name": "net"}},
		"routeTable": map[string]any{"kubernetes": map[string]any{"name": "routes"}},
	}
	const group = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network"
	body, err := subnet.ToARM(spec, catalogue.Conversion{
		Parent: group + "/virtualNetworks/net", Kinds: all,
		Resolve: func(r catalogue.KubernetesReference, _ []catalogue.Target) (string, error) {
			return group + "/routeTables/the-" + r.Kind + "-" + r.Name, nil
		},
	})
	if err != nil {
		panic(err)
	}
	show(body)
	// Output:
	// {
	//   "name": "web",
	//   "properties": {
	//     "addressPrefix": "10.0.0.0/24",
	//     "routeTable": {
	//       "id": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/routeTables/the-RouteTable-routes"
	//     }
	//   }
	// }
}

// A body from Azure becomes a spec. What the api-version doesn't know is kept in raw.
func ExampleKind_FromARM() {
	all, err := catalogue.Embedded()
	if err != nil {
		panic(err)
	}
	spec, rest, err := all.Default("Microsoft.Network/virtualNetworks/subnets").FromARM(map[string]any{
		"name": "web",
		"properties": map[string]any{
			"natGateway": map[string]any{
				"id": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/natGateways/nat",
			},
			"sharingScope": "Tenant",
		},
	}, catalogue.Conversion{})
	if err != nil {
		panic(err)
	}
	catalogue.SetRest(spec, rest)
	show(spec)
	// Output:
	// {
	//   "azureName": "web",
	//   "natGateway": {
	//     "azure": {
	//       "name": "Microsoft.Network/natGateways/nat",
	//       "resourceGroup": "g",
	//       "subscription": "s"
	//     }
	//   },
	//   "raw": [
	//     {
	//       "path": "/properties/sharingScope",
	//       "value": "Tenant"
	//     }
	//   ]
	// }
}
