package catalogue_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// TestAzureReferenceID: what is missing is taken from the resource that refers.
func TestAzureReferenceID(t *testing.T) {
	const from = "/subscriptions/s/resourceGroups/g/providers/My.Net/networks/net"
	for want, r := range map[string]catalogue.AzureReference{
		"/subscriptions/s/resourceGroups/g/providers/My.Net/networks/x": {Name: "My.Net/networks/x"},
		"/subscriptions/s/resourceGroups/h/providers/My.Net/networks/x": {ResourceGroup: "h", Name: "My.Net/networks/x"},
		"/subscriptions/t/resourceGroups/h/providers/My.Net/networks/x/subnets/y": {
			Subscription: "t", ResourceGroup: "h", Name: "My.Net/networks/x/subnets/y",
		},
		"/subscriptions/s/resourceGroups/h": {ResourceGroup: "h"},
		"/subscriptions/t":                  {Subscription: "t"},
		"/providers/My.Mgmt/groups/x":       {Name: "/providers/My.Mgmt/groups/x"},
	} {
		if got, err := r.ID(from); err != nil || got != want {
			t.Errorf("%+v: got %q, %v, want %q", r, got, err, want)
		}
	}
}

// TestReferenceTo: the reference to an id leads back to exactly that id.
func TestReferenceTo(t *testing.T) {
	segment := rapid.SampledFrom([]string{
		"subscriptions", "Subscriptions", "resourceGroups", "resourcegroups", "providers", "My.Net", "networks", "x", "", "a b",
	})
	rapid.Check(t, func(t *rapid.T) {
		id := ""
		for range rapid.IntRange(0, 11).Draw(t, "length") {
			id += "/" + segment.Draw(t, "segment")
		}
		r, ok := catalogue.ReferenceTo(id)
		if ok != (id != "") {
			t.Fatalf("%q: got %v", id, ok)
		}
		if !ok {
			return
		}
		if back, err := r.ID(""); err != nil || back != id {
			t.Fatalf("%q: %+v leads to %q, %v", id, r, back, err)
		}
	})
}

// TestKindID: the id of a resource, and its name in a template.
func TestKindID(t *testing.T) {
	kind := func(armType string) *catalogue.Kind { return &catalogue.Kind{Type: armType} }
	for _, c := range []struct{ armType, parent, want, qualified string }{
		{"My.Net/networks", "/subscriptions/s/resourceGroups/g", "/subscriptions/s/resourceGroups/g/providers/My.Net/networks/x", "x"},
		{"My.Net/networks/subnets", network, network + "/subnets/x", "net/x"},
		{"Microsoft.Resources/resourceGroups", "/subscriptions/s", "/subscriptions/s/resourceGroups/x", "x"},
		{"My.Auth/locks", network + "/", network + "/providers/My.Auth/locks/x", "x"},
		{"My.Tenant/things", "", "/providers/My.Tenant/things/x", "x"},
	} {
		k := kind(c.armType)
		if got, err := k.ID(c.parent, "x"); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.armType, got, err, c.want)
		}
		if got := k.QualifiedName(c.parent, "x"); got != c.qualified {
			t.Errorf("%s: got the name %q, want %q", c.armType, got, c.qualified)
		}
		for _, name := range []string{"", "a/b", "a?b", "a#"} {
			if got, err := k.ID(c.parent, name); err == nil {
				t.Errorf("%s: the name %q gives %q", c.armType, name, got)
			}
		}
	}
}

// TestTypeOf: the type of an id, and what is no id.
func TestTypeOf(t *testing.T) {
	const group = "/subscriptions/s/resourceGroups/g"
	for id, want := range map[string]string{
		"/subscriptions/s":                     "Microsoft.Resources/subscriptions",
		group:                                  "Microsoft.Resources/resourceGroups",
		network:                                "My.Net/networks",
		network + "/subnets/web":               "My.Net/networks/subnets",
		network + "/providers/My.Auth/locks/l": "My.Auth/locks",
		"/providers/My.Mgmt/groups/m":          "My.Mgmt/groups",
		"/subscriptions/s/providers/My.Policy/definitions/d": "My.Policy/definitions",
		group + "/providers/My.Net/networks/providers":       "My.Net/networks",
	} {
		if got, err := catalogue.TypeOf(id); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", id, got, err, want)
		}
	}
	for _, id := range []string{
		"", "/", "x", "subscriptions/s", group + "/", "/subscriptions//resourceGroups/g", network + "?a", network + "/subnets",
		group + "/providers/My.Net", group + "/networks/x", "/a/b", group + "/providers/My.Net/net works/x",
		"https://example.com" + network,
	} {
		if got, err := catalogue.TypeOf(id); err == nil {
			t.Errorf("%q is of %s", id, got)
		}
	}
}

// TestCheckTarget: a reference to another type is told, in any case of letters.
func TestCheckTarget(t *testing.T) {
	networks := []catalogue.Target{{Type: "my.net/NETWORKS"}, {Type: "My.Net/networks", Part: "frontends"}}
	for id, want := range map[string]string{
		network:                    "",
		network + "/frontends/a":   "",
		network + "/subnets/a":     "is of My.Net/networks/subnets instead of my.net/NETWORKS or My.Net/networks/frontends",
		"/subscriptions/s/unknown": "lacks a name",
	} {
		err := catalogue.CheckTarget(id, networks)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", id, err, want)
		}
	}
	if err := catalogue.CheckTarget(network, nil); err != nil {
		t.Error(err)
	}
}
