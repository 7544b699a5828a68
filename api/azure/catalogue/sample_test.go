package catalogue_test

import (
	"fmt"
	"testing"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// text, number and so on are shapes without bounds.
var (
	text    = &catalogue.Shape{Type: catalogue.String}
	number  = &catalogue.Shape{Type: catalogue.Integer}
	anyJSON = &catalogue.Shape{Type: catalogue.Any}
	yes     = &catalogue.Shape{Type: catalogue.Boolean}
)

func listOf(items *catalogue.Shape) *catalogue.Shape {
	return &catalogue.Shape{Type: catalogue.List, Items: items}
}

func object(properties ...catalogue.Property) *catalogue.Shape {
	return &catalogue.Shape{Type: catalogue.Object, Properties: properties}
}

func top(name string, shape *catalogue.Shape) catalogue.Property {
	return catalogue.Property{Name: name, ARM: name, Shape: shape}
}

func nested(name string, shape *catalogue.Shape) catalogue.Property {
	return catalogue.Property{Name: name, ARM: name, Nested: true, Shape: shape}
}

const network = "/subscriptions/s/resourceGroups/g/providers/My.Net/networks/net"

// sample returns a catalogue with a kind for each sort of shape: networks with subnets.
func sample(tb testing.TB) *catalogue.Catalogue {
	tb.Helper()
	zero, most := 0.0, 65535.0
	toNetwork := []catalogue.Target{{Type: "My.Net/networks"}}
	toFrontend := []catalogue.Target{{Type: "My.Net/networks", Part: "frontends"}}
	tiers := &catalogue.Shape{Type: catalogue.String, Enum: []string{"Basic", "Standard"}, MaxLength: 20}
	body := object(
		nested("addressPrefixes", listOf(&catalogue.Shape{Type: catalogue.String, MinLength: 1, Pattern: `^[0-9./]+$`})),
		nested("anything", anyJSON),
		nested("enabled", yes),
		nested("frontends", listOf(object(top("name", text), nested("port",
			&catalogue.Shape{Type: catalogue.Integer, Minimum: &zero, Maximum: &most})))),
		top("identities", &catalogue.Shape{
			Type: catalogue.IDMap, Items: object(top("clientId", text)), Targets: []catalogue.Target{{Type: "My.Id/identities"}},
		}),
		top("location", text),
		nested("peer", &catalogue.Shape{Type: catalogue.IDObject, Targets: toNetwork}),
		catalogue.Property{
			Name: "peerRefs", ARM: "peerIds", Nested: true,
			Shape: listOf(&catalogue.Shape{Type: catalogue.ID, Targets: toNetwork}),
		},
		nested("port", &catalogue.Shape{Type: catalogue.IntOrString}),
		catalogue.Property{Name: "propertiesTier", ARM: "tier", Nested: true, Required: true, Shape: tiers},
		nested("rules", listOf(object(top("frontend", &catalogue.Shape{Type: catalogue.IDObject, Targets: toFrontend})))),
		catalogue.Property{Name: "suggested", ARM: "suggested", Suggested: true, Shape: text},
		top("tags", &catalogue.Shape{Type: catalogue.Map, Items: text}),
		top("tier", text),
		nested("weight", &catalogue.Shape{Type: catalogue.Number}),
	)
	open := object(nested("network", &catalogue.Shape{Type: catalogue.IDObject}), top("size", number))
	open.Open = true
	kind := func(armType, name, plural, owner string) catalogue.Kind {
		return catalogue.Kind{
			Group: catalogue.GroupOf(armType), Version: "v20200101", Kind: name, Plural: plural, Type: armType,
			APIVersion: "2020-01-01", Scopes: catalogue.ResourceGroupScope, Owner: owner,
			Source: catalogue.Source{Path: fmt.Sprintf("schemas/%d.json", 100-len(plural)), Hash: "00"}, SchemaPath: "x/" + name,
		}
	}
	c, err := catalogue.New([]catalogue.Entry{
		{
			Kind: kind("My.Net/networks", "Network", "networks", catalogue.ResourceGroupType),
			Definition: &catalogue.Definition{
				Body: body, Name: text,
				Preserved: []catalogue.Preserved{{Path: "/properties/subnets", Type: "My.Net/networks/subnets"}},
			},
		},
		{
			Kind:       kind("My.Net/networks/subnets", "NetworksSubnet", "networkssubnets", "My.Net/networks"),
			Definition: &catalogue.Definition{Body: open, Name: &catalogue.Shape{Type: catalogue.String, Enum: []string{"web"}}},
		},
		{
			Kind:       kind("My.Id/identities", "Identity", "identities", catalogue.ResourceGroupType),
			Definition: &catalogue.Definition{Body: object(top("location", text)), Name: text},
		},
	}, []catalogue.Refusal{{Type: "My.Net/loops", APIVersion: "2020-01-01", Reason: "the schema contains itself"}})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}
