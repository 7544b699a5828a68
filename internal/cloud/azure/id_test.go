package azure

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	subscription = "/subscriptions/00000000-0000-0000-0000-00000000000a"
	inGroup      = subscription + "/resourceGroups/rg"
	network      = inGroup + "/providers/Microsoft.Network/virtualNetworks/net"
)

// facts are all that an ID tells.
type facts struct {
	Text, Type, Name, Subscription, Group, Parent, In string
	Scope                                             Scope
	Names                                             []string
}

func factsOf(id ID) facts {
	return facts{
		id.String(), id.Type(), id.Name(), id.Subscription(), id.ResourceGroup(), id.Parent().String(), id.In().String(),
		id.Scope(), id.Names(),
	}
}

func TestParseID(t *testing.T) {
	const guid = "00000000-0000-0000-0000-00000000000a"
	for name, want := range map[string]facts{
		"a subscription": {subscription, subscriptionType, guid, guid, "", "/", "/", TenantScope, []string{guid}},
		"a resource group": {
			inGroup, groupType, "rg", guid, "rg", subscription, subscription, SubscriptionScope, []string{"rg"},
		},
		"in a resource group": {
			network, "Microsoft.Network/virtualNetworks", "net", guid, "rg", inGroup, inGroup,
			ResourceGroupScope,
			[]string{"net"},
		},
		"a child": {
			network + "/subnets/a b;c=1", "Microsoft.Network/virtualNetworks/subnets", "a b;c=1", guid, "rg", network,
			inGroup, ResourceGroupScope,
			[]string{"net", "a b;c=1"},
		},
		"in a subscription": {
			subscription + "/providers/Microsoft.Test/things/a", "Microsoft.Test/things", "a", guid, "",
			subscription, subscription, SubscriptionScope,
			[]string{"a"},
		},
		"in the tenant": {
			"/providers/Microsoft.Subscription/aliases/a", "Microsoft.Subscription/aliases", "a", "", "", "/", "/",
			TenantScope,
			[]string{"a"},
		},
		"a management group": {
			"/providers/Microsoft.Management/managementGroups/mg", managementType, "mg", "", "", "/", "/",
			TenantScope,
			[]string{"mg"},
		},
		"in a management group": {
			"/providers/Microsoft.Management/managementGroups/mg/providers/Microsoft.Authorization/locks/l",
			"Microsoft.Authorization/locks", "l", "", "", "/providers/Microsoft.Management/managementGroups/mg",
			"/providers/Microsoft.Management/managementGroups/mg", ManagementGroupScope,
			[]string{"l"},
		},
		"an extension": {
			network + "/subnets/s/providers/Microsoft.Authorization/locks/l", "Microsoft.Authorization/locks", "l",
			guid, "rg", network + "/subnets/s", network + "/subnets/s", ExtensionScope,
			[]string{"l"},
		},
		"an extension's child": {
			network + "/providers/Microsoft.Network/virtualNetworks/e/subnets/c",
			"Microsoft.Network/virtualNetworks/subnets", "c", guid, "rg",
			network + "/providers/Microsoft.Network/virtualNetworks/e", network, ExtensionScope,
			[]string{"e", "c"},
		},
		"a group named as a provider": {
			subscription + "/resourceGroups/providers/providers/Microsoft.Test/things/providers",
			"Microsoft.Test/things", "providers", guid, "providers", subscription + "/resourceGroups/providers",
			subscription + "/resourceGroups/providers", ResourceGroupScope,
			[]string{"providers"},
		},
	} {
		id, err := ParseID(want.Text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, factsOf(id)); diff != "" {
			t.Errorf("%s (-want, +got): %s", name, diff)
		}
	}
}

func TestIDsAreComparedWithoutCase(t *testing.T) {
	id := mustParse(t, network)
	other := mustParse(t, strings.ToUpper(network)+"/")
	if !id.Equal(other) || id.Key() != other.Key() {
		t.Errorf("%s and %s differ", id, other)
	}
	want := subscription + "/resourceGroups/RG/providers/MICROSOFT.NETWORK/VIRTUALNETWORKS/NET"
	got := other.String()
	if !strings.EqualFold(got, want) || !strings.Contains(got, "/resourceGroups/RG/providers/MICROSOFT.") {
		t.Errorf("the text is %s", got)
	}
	if id.Equal(mustParse(t, network+"2")) || !mustParse(t, network+"/subnets/a").Within(other) ||
		id.Within(mustParse(t, network+"/x/y")) {
		t.Error("Equal or Within says the wrong thing")
	}
}

func TestIDsThatAreRefused(t *testing.T) {
	for text, why := range map[string]string{
		"":                                   "must start with /",
		"/":                                  "must start with /subscriptions",
		"subscriptions/x":                    "must start with /",
		"/resourceGroups/rg":                 "must start with /subscriptions",
		"/subscriptions":                     "GUID",
		"/subscriptions/prod":                "GUID",
		subscription + "//":                  "must be providers",
		subscription + "/resourceGroups":     "resource group",
		subscription + "/resourceGroups/":    "resource group",
		subscription + "/resourceGroups/a.":  "resource group",
		subscription + "/resourceGroups/a b": "resource group",
		subscription + "/resourceGroups//providers/Microsoft.Test/things/a": "resource group",
		subscription + "/resourceGroups/" + strings.Repeat("a", 91):         "resource group",
		inGroup + "/things/a":                                                 "must be providers",
		inGroup + "/providers":                                                "namespace",
		inGroup + "/providers/Microsoft":                                      "namespace",
		inGroup + "/providers/Microsoft.Test":                                 "type must be followed",
		inGroup + "/providers/Microsoft.Test/things":                          "type must be followed",
		inGroup + "/providers/Microsoft.Test/providers/a":                     "is no type",
		network + "/subnets":                                                  "type must be followed",
		network + "//":                                                        "type must be followed",
		network + "//subnets/a":                                               "is no type",
		network + "/sub nets/a":                                               "is no type",
		network + "?api-version=1":                                            "characters",
		network + "/subnets/a%2Fb":                                            "characters",
		network + "/subnets/a.":                                               "ends with a dot",
		network + "/subnets/..":                                               "dots",
		network + "/subnets/ a":                                               "space",
		network + "/subnets/a\x00":                                            "control",
		network + "/subnets/\xff":                                             "UTF-8",
		network + "/subnets/" + strings.Repeat("a", maxName+1):                "longer",
		network + strings.Repeat("/a/b", maxID/4):                             "longer",
		"https://management.azure.com" + network:                              "must start with /",
		subscription + "/providers/Microsoft.Resources/resourceGroups/rg":     "without a provider",
		"/providers/Microsoft.Resources/subscriptions/x":                      "without a provider",
		subscription + "/providers/Microsoft.Resources/resourceGroups/rg/x/y": "without a provider",
	} {
		if _, err := ParseID(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want an error with %q", quote(text), err, why)
		}
	}
}

func TestChild(t *testing.T) {
	build := func(in, typ, name string) string {
		parent := ID{}
		if in != "/" {
			parent = mustParse(t, in)
		}
		id, err := parent.Child(typ, name)
		if err != nil {
			return "error: " + err.Error()[strings.LastIndex(err.Error(), ": ")+2:]
		}
		return id.String()
	}
	const group = "/providers/Microsoft.Management/managementGroups/mg"
	for _, row := range []struct{ in, typ, name, want string }{
		{"/", subscriptionType, subscription[15:], subscription},
		{"/", managementType, "mg", group},
		{subscription, groupType, "rg", inGroup},
		{inGroup, "Microsoft.Network/virtualNetworks", "net", network},
		{network, "microsoft.network/VirtualNetworks/subnets", "a", network + "/subnets/a"},
		{network, "Microsoft.Authorization/locks", "l", network + "/providers/Microsoft.Authorization/locks/l"},
		{group, "Microsoft.Authorization/locks", "l", group + "/providers/Microsoft.Authorization/locks/l"},
		{
			"/", groupType, "rg",
			"error: its owner must be a Microsoft.Resources/subscriptions, not a Microsoft.Resources/tenants",
		},
		{inGroup, subscriptionType, "x", "error: its owner must be a Microsoft.Resources/tenants, not a " + groupType},
		{
			inGroup, "Microsoft.Network/virtualNetworks/subnets", "a",
			"error: its owner must be a Microsoft.Network/virtualNetworks, not a " + groupType,
		},
		{
			inGroup, "virtualNetworks", "a",
			`error: "virtualNetworks" is no full type, such as Microsoft.Network/virtualNetworks`,
		},
		{inGroup, "Microsoft.Network/virtualNetworks", "", "error: a name is empty"},
		{"/", subscriptionType, "prod", "error: the subscription must be a GUID"},
	} {
		if got := build(row.in, row.typ, row.name); got != row.want {
			t.Errorf("%s %s in %s: %s, want %s", row.typ, row.name, row.in, got, row.want)
		}
	}
}

func TestIDsInJSON(t *testing.T) {
	for _, id := range []ID{{}, mustParse(t, network)} {
		text, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		var back ID
		if err := json.Unmarshal(text, &back); err != nil || !back.Equal(id) {
			t.Errorf("%s: %s, %v", text, back, err)
		}
	}
	var id ID
	if json.Unmarshal([]byte(`"/x"`), &id) == nil {
		t.Error("a wrong id is read")
	}
}

// TestBuiltIDsAreParsed builds ids step by step: each parses to the same id, whose parent is the one it was built in.
func TestBuiltIDsAreParsed(t *testing.T) {
	name := rapid.StringMatching(`[a-zA-Z0-9_.();=$!' -]{1,20}`).Filter(func(s string) bool { return checkName(s) == nil })
	segments := rapid.StringMatching(`[a-zA-Z][a-zA-Z0-9-]{0,8}`).Filter(func(s string) bool {
		return !strings.EqualFold(s, "providers")
	})
	rapid.Check(t, func(rt *rapid.T) {
		id := rapid.SampledFrom([]ID{{}, mustParse(t, subscription), mustParse(t, inGroup)}).Draw(rt, "scope")
		for range rapid.IntRange(1, 5).Draw(rt, "levels") {
			typ := "Test." + strings.ReplaceAll(segments.Draw(rt, "provider"), "-", "") + "/" + segments.Draw(rt, "type")
			if rapid.Bool().Draw(rt, "child") && !strings.HasPrefix(id.Type(), "Microsoft.Resources/") {
				typ = id.Type() + "/" + segments.Draw(rt, "type")
			}
			child, err := id.Child(typ, name.Draw(rt, "name"))
			if err != nil {
				rt.Fatal(err)
			}
			if !child.Parent().Equal(id) || !strings.EqualFold(child.Type(), typ) {
				rt.Fatalf("%s in %s has the parent %s and the type %s", child, id, child.Parent(), child.Type())
			}
			id = child
		}
		back, err := ParseID(id.String())
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(factsOf(id), factsOf(back)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// FuzzParseID holds what is parsed to the text: the parts of an accepted id build the same id.
func FuzzParseID(f *testing.F) {
	for _, seed := range []string{
		network, network + "/subnets/a/", subscription + "/RESOURCEGROUPS/rg", "/providers/A.B/c/d/providers/E.F/g/h/i/j",
		subscription + "/providers/Microsoft.Resources/providers/x", "//",
		subscription + "/resourceGroups/providers/providers/A.B/c/providers",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseID(text)
		if err != nil {
			return
		}
		if !strings.EqualFold(id.String(), strings.TrimSuffix(text, "/")) {
			t.Fatalf("%q is read as %q", text, id)
		}
		built, err := id.Parent().Child(id.Type(), id.Name())
		if err != nil || built.String() != id.String() {
			t.Fatalf("%q is built as %q: %v", id, built, err)
		}
		if !id.Within(id.In()) || id.Names()[len(id.Names())-1] != id.Name() {
			t.Fatalf("%q: %v", id, factsOf(id))
		}
	})
}

func mustParse(t *testing.T, text string) ID {
	t.Helper()
	id, err := ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
