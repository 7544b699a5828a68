package catalogue_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return m
}

// conversion is that of the network net in the resource group g.
func conversion(t *testing.T) catalogue.Conversion {
	t.Helper()
	return catalogue.Conversion{
		Parent: "/subscriptions/s/resourceGroups/g", Kinds: sample(t),
		Resolve: func(r catalogue.KubernetesReference, _ []catalogue.Target) (string, error) {
			if r.Name == "missing" {
				return "", errors.New("no Network/missing")
			}
			return "/of/" + r.Group + "/" + r.Kind + "/" + r.Name, nil
		},
	}
}

// TestConversion: each spec gives the body, and each body the spec.
func TestConversion(t *testing.T) {
	for name, c := range map[string]struct{ spec, body string }{
		"properties are flattened": {
			`{"azureName":"net","location":"here","enabled":true,"weight":1.5,"port":"http"}`,
			`{"name":"net","location":"here","properties":{"enabled":true,"weight":1.5,"port":"http"}}`,
		},
		"a name that is taken": {
			`{"tier":"outer","propertiesTier":"Basic"}`, `{"tier":"outer","properties":{"tier":"Basic"}}`,
		},
		"inner objects are flattened": {
			`{"frontends":[{"name":"a","port":80},{"name":"b"}]}`,
			`{"properties":{"frontends":[{"name":"a","properties":{"port":80}},{"name":"b"}]}}`,
		},
		"an id in the same place": {
			`{"peer":{"azure":{"subscription":"s","resourceGroup":"g","name":"My.Net/networks/other"}}}`,
			`{"properties":{"peer":{"id":"/subscriptions/s/resourceGroups/g/providers/My.Net/networks/other"}}}`,
		},
		"an id in another spelling": {
			`{"peer":{"azure":{"name":"/subscriptions/s/resourcegroups/g/providers/My.Net/networks/other"}}}`,
			`{"properties":{"peer":{"id":"/subscriptions/s/resourcegroups/g/providers/My.Net/networks/other"}}}`,
		},
		"an id of the tenant": {
			`{"peerRefs":[{"azure":{"name":"/providers/My.Net/networks/x"}}]}`,
			`{"properties":{"peerIds":["/providers/My.Net/networks/x"]}}`,
		},
		"a part of the resource": {
			`{"azureName":"net","rules":[{"frontend":{"self":"frontends/a"}}]}`,
			`{"name":"net","properties":{"rules":[{"frontend":{"id":"` + network + `/frontends/a"}}]}}`,
		},
		"ids as keys": {
			`{"identities":[{"ref":{"azure":{"name":"/a"}}},{"ref":{"azure":{"name":"/b"}},"value":{"clientId":"x"}}]}`,
			`{"identities":{"/a":{},"/b":{"clientId":"x"}}}`,
		},
		"an unknown property": {
			`{"raw":[{"path":"/properties/later","value":{"a":[1]}}]}`, `{"properties":{"later":{"a":[1]}}}`,
		},
		"null": {
			`{"location":"here","raw":[{"path":"/properties/anything"},{"path":"/properties/enabled"},{"path":"/tags"}]}`,
			`{"location":"here","properties":{"anything":null,"enabled":null},"tags":null}`,
		},
		"empty properties": {`{"raw":[{"path":"/properties","value":{}}]}`, `{"properties":{}}`},
		"properties that are no object": {
			`{"raw":[{"path":"/properties","value":"none"}]}`, `{"properties":"none"}`,
		},
		"a value of another type": {
			`{"raw":[{"path":"/properties/enabled","value":"yes"},{"path":"/properties/tier","value":"Gold"}]}`,
			`{"properties":{"enabled":"yes","tier":"Gold"}}`,
		},
		"null in a list": {
			`{"raw":[{"path":"/properties/peerIds","value":["/a",null]}]}`, `{"properties":{"peerIds":["/a",null]}}`,
		},
		"null after an item with an unknown property": {
			`{"raw":[{"path":"/properties/frontends","value":[{"name":"a","etag":"x"},null]}]}`,
			`{"properties":{"frontends":[{"name":"a","etag":"x"},null]}}`,
		},
		"an id that is none": {
			`{"raw":[{"path":"/properties/peer","value":{"id":""}}]}`, `{"properties":{"peer":{"id":""}}}`,
		},
		"more than an id": {
			`{"peer":{"azure":{"name":"/a"}},"raw":[{"path":"/properties/peer/etag","value":"1"}]}`,
			`{"properties":{"peer":{"id":"/a","etag":"1"}}}`,
		},
		"a slash in a name": {
			`{"tags":{"a/b~c":"1"},"raw":[{"path":"/tags/d~1e~0f"}]}`, `{"tags":{"a/b~c":"1","d/e~f":null}}`,
		},
		"reserved names": {
			`{"raw":[{"path":"/ownerRef","value":1},{"path":"/raw","value":[]}]}`, `{"ownerRef":1,"raw":[]}`,
		},
		"children": {
			`{"raw":[{"path":"/properties/subnets","value":[{"name":"web"}]}]}`, `{"properties":{"subnets":[{"name":"web"}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := sample(t).Default("My.Net/networks")
			body, err := k.ToARM(parse(t, c.spec), conversion(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, c.body), body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			spec, rest, err := k.FromARM(parse(t, c.body), conversion(t))
			if err != nil {
				t.Fatal(err)
			}
			catalogue.SetRest(spec, rest)
			if diff := cmp.Diff(parse(t, c.spec), spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReferences: a reference to an object has the group and the kind that its field allows.
func TestReferences(t *testing.T) {
	k := sample(t).Default("My.Net/networks")
	body, err := k.ToARM(parse(t, `{
		"peer": {"kubernetes": {"name": "a"}},
		"peerRefs": [{"kubernetes": {"name": "b", "kind": "Network", "group": "x"}}],
		"rules": [{"frontend": {"kubernetes": {"name": "c", "path": "frontends/d"}}}],
		"identities": [{"ref": {"kubernetes": {"name": "e"}}}]
	}`), conversion(t))
	if err != nil {
		t.Fatal(err)
	}
	const group = "my.net.infra.azure.com"
	want := parse(t, `{"properties": {
		"peer": {"id": "/of/`+group+`/Network/a"}, "peerIds": ["/of/x/Network/b"],
		"rules": [{"frontend": {"id": "/of/`+group+`/Network/c/frontends/d"}}]
	}, "identities": {"/of/my.id.infra.azure.com/Identity/e": {}}}`)
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	found, err := k.References(parse(t, `{
		"ownerRef": {"kubernetes": {"name": "g"}}, "peerRefs": [{"azure": {"name": "/x"}}, {"self": "y"}],
		"identities": [{"ref": {"kubernetes": {"name": "e"}}}], "peer": "bad"
	}`))
	if err != nil {
		t.Fatal(err)
	}
	paths := make([]string, 0, len(found))
	for _, f := range found {
		paths = append(paths, f.Path)
	}
	if diff := cmp.Diff([]string{"spec.identities[0].ref", "spec.peerRefs[0]", "spec.peerRefs[1]"}, paths); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}

// TestReferenceFields: the fields of a kind that hold references.
func TestReferenceFields(t *testing.T) {
	fields, err := sample(t).Default("My.Net/networks").ReferenceFields()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range fields {
		got[f.Path] = f.Targets[0].Type + "#" + f.Targets[0].Part
	}
	want := map[string]string{
		"spec.identities[*].ref": "My.Id/identities#", "spec.peer": "My.Net/networks#", "spec.peerRefs[*]": "My.Net/networks#",
		"spec.rules[*].frontend": "My.Net/networks#frontends",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// TestRefusedSpecs: the error of ToARM says which field is wrong, and why.
func TestRefusedSpecs(t *testing.T) {
	for spec, want := range map[string]string{
		`{"locatoin":"here"}`:                              "spec.locatoin: the field is unknown",
		`{"frontends":{}}`:                                 "spec.frontends: want a list instead of an object",
		`{"frontends":[1]}`:                                "spec.frontends[0]: want an object instead of a number",
		`{"tags":null}`:                                    "spec.tags: want an object instead of null",
		`{"peer":{}}`:                                      "spec.peer: give exactly one of kubernetes, azure and self",
		`{"peer":{"self":"a","azure":{}}}`:                 "spec.peer: give exactly one of kubernetes, azure and self",
		`{"peer":{"kubernetes":{"name":""}}}`:              "spec.peer: kubernetes needs a name",
		`{"peer":{"azure":{"name":"x"}}}`:                  `spec.peer: "x" is no name such as`,
		`{"peer":{"azure":{"nam":"x"}}}`:                   "spec.peer: the field nam of a reference is unknown",
		`{"peer":{"self":"a"}}`:                            "spec.peer: a reference to a part of the resource needs the ids",
		`{"peerRefs":[{"kubernetes":{"name":"missing"}}]}`: "spec.peerRefs[0]: no Network/missing",
		`{"raw":[{"path":"properties"}]}`:                  "spec.raw[0]: want a path that starts with a slash",
		`{"raw":[{"path":"/properties/frontends/3/x"}],"frontends":[{}]}`: "spec.raw[0]: setting /properties/frontends/3/x: " +
			"the list has no item 3",
		`{"identities":["x"]}`: "spec.identities[0]: want an object instead of a string",
		`{"peer":{"azure":{"subscription":"a/b","name":"My.Net/networks/x"}}}`:          "contains a slash",
		`{"peer":{"azure":{"subscription":"a","name":"/providers/My.Net/networks/x"}}}`: "is a whole ARM id",
	} {
		k := sample(t).Default("My.Net/networks")
		_, err := k.ToARM(parse(t, spec), conversion(t))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "converting Network: ") {
			t.Errorf("%s: got %v, want %q", spec, err, want)
		}
	}
}

// TestUnknownInList: an unknown property of an item is put back into the item.
func TestUnknownInList(t *testing.T) {
	k := sample(t).Default("My.Net/networks")
	body := parse(t, `{"properties":{"frontends":[{"name":"a"},{"name":"b","properties":{"port":1,"later":2},"etag":"x"}]}}`)
	spec, rest, err := k.FromARM(body, conversion(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []catalogue.Rest{
		{Path: "/properties/frontends/1/etag", Value: "x"}, {Path: "/properties/frontends/1/properties/later", Value: 2.0},
	}
	if diff := cmp.Diff(want, rest); diff != "" {
		t.Errorf("rest (-want +got):\n%s", diff)
	}
	catalogue.SetRest(spec, rest)
	back, err := k.ToARM(spec, conversion(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(body, back); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// TestNoSharing: a change of the spec doesn't change the body.
func TestNoSharing(t *testing.T) {
	body := parse(t, `{"properties":{"anything":{"a":1},"later":[1]}}`)
	spec, rest, err := sample(t).Default("My.Net/networks").FromARM(body, conversion(t))
	if err != nil {
		t.Fatal(err)
	}
	anything, ok := spec["anything"].(map[string]any)
	later, isList := rest[0].Value.([]any)
	if !ok || !isList {
		t.Fatalf("got %v and %v", spec, rest)
	}
	anything["a"], later[0] = 2, 2
	if diff := cmp.Diff(parse(t, `{"properties":{"anything":{"a":1},"later":[1]}}`), body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// TestHooks: a hook changes both directions of its own type.
func TestHooks(t *testing.T) {
	catalogue.RegisterHook("my.id/IDENTITIES", catalogue.Hook{
		ToARM: func(spec, body map[string]any) error {
			if spec["location"] == "nowhere" {
				return errors.New("nowhere is no location")
			}
			body["hooked"] = true
			return nil
		},
		FromARM: func(spec, _ map[string]any) error {
			spec["location"] = "hooked"
			return nil
		},
	})
	k := sample(t).Default("My.Id/identities")
	body, err := k.ToARM(parse(t, `{"location":"here"}`), conversion(t))
	if err != nil || body["hooked"] != true {
		t.Errorf("got %v, %v", body, err)
	}
	if _, err := k.ToARM(parse(t, `{"location":"nowhere"}`), conversion(t)); err == nil {
		t.Error("the error of the hook is lost")
	}
	if spec, _, err := k.FromARM(body, conversion(t)); err != nil || spec["location"] != "hooked" {
		t.Errorf("got %v, %v", spec, err)
	}
}
