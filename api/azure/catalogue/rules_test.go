package catalogue_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// TestRules: what the rules of a definition refuse, and what they say.
func TestRules(t *testing.T) {
	embedded, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const subscription, anyOwner = `"ownerRef":{"azure":{"subscription":"s"}}`, `"ownerRef":{"azure":{"resourceGroup":"g"}}`
	for _, c := range []struct{ kind, old, spec, want string }{
		{"My.Net/networks", "", `{"ownerRef":{"kubernetes":{"name":"g"}}}`, "give exactly one of azure"},
		{"My.Net/networks", "", `{"ownerRef":{}}`, "give exactly one of azure"},
		{"My.Net/networks", "", `{` + anyOwner + `,"peer":{"kubernetes":{"name":"a"}}}`, ""},
		{
			"My.Net/networks", "", `{` + anyOwner + `,"peer":{"kubernetes":{"name":"a"},"azure":{"name":"/x"}}}`,
			"give exactly one of kubernetes, azure, self",
		},
		{"My.Net/networks", "", `{` + anyOwner + `,"peer":{}}`, "give exactly one of kubernetes, azure, self"},
		{
			"My.Net/networks", "", `{` + anyOwner + `,"peer":{"kubernetes":{"name":"a","kind":"Other"}}}`,
			`spec.peer.kubernetes.kind: Unsupported value: "Other": supported values: "Network"`,
		},
		{"My.Net/networks", "", `{` + anyOwner + `,"peer":{"kubernetes":{"name":"a","group":"other"}}}`, `spec.peer.kubernetes.group: Unsupported value`},
		{
			"My.Net/networks", "", `{` + anyOwner + `,"rules":[{"frontend":{"kubernetes":{"name":"a"}}}]}`,
			"spec.rules[0].frontend.kubernetes.path: Required value",
		},
		{"My.Net/networks", "", `{` + anyOwner + `,"rules":[{"frontend":{"kubernetes":{"name":"a","path":"frontends/b"}}}]}`, ""},
		{"My.Net/networks", `{` + anyOwner + `}`, `{` + subscription + `}`, "ownerRef is immutable"},
		{"My.Net/networks", `{` + anyOwner + `}`, `{` + anyOwner + `,"azureName":"a"}`, "azureName is immutable"},
		{"My.Net/networks", `{` + anyOwner + `,"azureName":"a"}`, `{` + anyOwner + `,"azureName":"b"}`, "azureName is immutable"},
		{"My.Net/networks", `{` + anyOwner + `,"azureName":"a"}`, `{` + anyOwner + `,"azureName":"a","tier":"x"}`, ""},
		{
			"My.Net/networks/subnets", "", `{"ownerRef":{"kubernetes":{"name":"net"}},"network":{"kubernetes":{"name":"a"}}}`,
			"spec.network.kubernetes.kind: Required value",
		},
		{"Microsoft.Resources/resourceGroups", "", `{` + subscription + `}`, ""},
		{
			"Microsoft.Resources/resourceGroups", "", `{"ownerRef":{"kubernetes":{"name":"a"}}}`,
			"give exactly one of azure",
		},
		{"Microsoft.Network/networkInterfaces", "", `{` + anyOwner + `,"ipConfigurations":[{"loadBalancerBackendAddressPools":` +
			`[{"kubernetes":{"name":"lb"}}]}]}`, "loadBalancerBackendAddressPools[0].kubernetes.kind: Required value"},
		{"Microsoft.Network/networkInterfaces", "", `{` + anyOwner + `,"ipConfigurations":[{"loadBalancerBackendAddressPools":` +
			`[{"azure":{"name":"/a"},"self":"b"}]}]}`, "must validate one and only one schema"},
	} {
		all := embedded
		if strings.HasPrefix(c.kind, "My.") {
			all = sample(t)
		}
		k := all.Default(c.kind)
		api := newServer(t, all, k)
		structural := api.structural
		validator := cel.NewValidator(structural, true, celconfig.PerCallLimit)
		object := map[string]any{"spec": parse(t, c.spec)}
		var old map[string]any
		if c.old != "" {
			old = map[string]any{"spec": parse(t, c.old)}
		}
		errs, _ := validator.Validate(t.Context(), nil, structural, object, old, math.MaxInt64)
		errs = append(errs, validation.ValidateCustomResource(nil, object, api.validator)...)
		got := ""
		if len(errs) > 0 {
			got = errs.ToAggregate().Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s after %s: got %q, want %q", c.kind, c.spec, c.old, got, c.want)
		}
	}
}

// TestOwnerRequired: a resource has an owner, unless its scope is the subscription or the tenant.
func TestOwnerRequired(t *testing.T) {
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for armType, want := range map[string]string{
		"Microsoft.Network/virtualNetworks":                    "required",
		"Microsoft.Network/virtualNetworks/subnets":            "required",
		"Microsoft.Resources/resourceGroups":                   "optional",
		"Microsoft.Authorization/roleAssignments":              "optional",
		"Microsoft.Management/managementGroups":                "none",
		"Microsoft.Billing/billingAccounts/customers/policies": "required",
	} {
		crd, err := catalogue.CRD(c, []*catalogue.Kind{c.Default(armType)})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if strings.Contains(string(text), `"ownerRef":{`) {
			got = "optional"
		}
		if strings.Contains(string(text), `"required":["ownerRef"]`) {
			got = "required"
		}
		if got != want {
			t.Errorf("%s: the owner is %s instead of %s (%s)", armType, got, want, c.Default(armType).Scopes)
		}
	}
}
