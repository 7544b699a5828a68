package azure

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/external"
)

// TestShownIsBounded: a status with a body of any form has less than the API server accepts.
func TestShownIsBounded(t *testing.T) {
	huge := strings.Repeat("ü", 2<<20)
	shown := shown(map[string]any{
		"id": huge, "name": "net", "type": huge, "location": huge, "etag": huge,
		"properties": map[string]any{"provisioningState": huge, "a": huge},
	})
	text, err := json.Marshal(shown)
	if err != nil || len(text) > 8<<10 {
		t.Errorf("a body is shown with %d bytes: %v", len(text), err)
	}
	location, _ := shown["location"].(string)
	if shown["name"] != "net" || !strings.HasPrefix(huge, location) || location == "" {
		t.Errorf("shown are the name %v and the location %.20q", shown["name"], location)
	}
	obj := &external.Unstructured{}
	obj.Object = map[string]any{}
	k := kindOf(t, "Microsoft.Network/virtualNetworks")
	outcome := k.observe(obj, &resource{Body: map[string]any{"properties": map[string]any{"provisioningState": huge}}})
	if len(outcome.Message()) > 4<<10 {
		t.Errorf("the condition has %d bytes", len(outcome.Message()))
	}
}

// TestStates: a state that ends a change is known in each spelling of the services.
func TestStates(t *testing.T) {
	for state, want := range map[string][2]bool{
		"": {true, false}, "succeeded": {true, false}, "Failed": {true, true}, "Canceled": {true, true},
		"Cancelled": {true, true}, "Updating": {false, false},
	} {
		if got := [2]bool{isTerminal(state), azure.IsFailed(state)}; got != want {
			t.Errorf("%q: terminal and failed are %v, want %v", state, got, want)
		}
	}
}

// TestUnknown: status.unknown has the properties that the schema lacks, and not the children of the resource that
// are objects of their own.
func TestUnknown(t *testing.T) {
	k := kindOf(t, "Microsoft.Network/virtualNetworks")
	body := parse(t, `{"id":"/x","properties":{"provisioningState":"Succeeded","subnets":[{"name":"a","properties":{}}],
		"magic":1,"subnetsOfMine":2}}`)
	if diff := cmp.Diff([]any{"/properties/magic", "/properties/subnetsOfMine"}, k.unknown(body)); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

// kindOf returns a kind of the embedded catalogue.
func kindOf(t *testing.T, armType string) *kind {
	t.Helper()
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	found := all.Default(armType)
	definition, err := found.Definition()
	if err != nil {
		t.Fatal(err)
	}
	return &kind{entry: found, all: all, definition: definition}
}
