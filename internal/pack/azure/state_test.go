package azure

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
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
	d := network(t, `{}`)
	outcome := d.observe(d.object, &resource{
		Body: map[string]any{"properties": map[string]any{"provisioningState": huge}}, desired: d,
	})
	if len(outcome.Message()) > 4<<10 {
		t.Errorf("the condition has %d bytes", len(outcome.Message()))
	}
}

// TestSentOfImport: an imported resource that is as a managed object wants it counts as sent, so that the removal of
// a field from the spec is noticed. The comparison itself changes nothing.
func TestSentOfImport(t *testing.T) {
	const same = `{"location":"here","ownerRef":{"kubernetes":{"name":"rg"}}`
	for name, c := range map[string]struct {
		spec  string
		noted bool
	}{
		"as wanted":  {same + `}`, true},
		"unmanaged":  {same + `,"managementPolicy":"unmanaged"}`, false},
		"different":  {same + `,"tags":{"a":"b"}}`, false},
		"impossible": {`{"location":"here"}`, false},
	} {
		d := network(t, c.spec)
		r := &resource{Body: parse(t, `{"location":"here","properties":{"provisioningState":"Succeeded"}}`), desired: d}
		before := d.object.DeepCopyObject()
		r.differs()
		if diff := cmp.Diff(before, d.object); diff != "" {
			t.Errorf("%s: differs changes the object (-before +after):\n%s", name, diff)
		}
		d.observe(d.object, r)
		if sent := sentOf(d.object); (sent != "") != c.noted {
			t.Errorf("%s: status.sent is %q", name, sent)
		}
		if c.noted {
			setStatus(d.object, "another body", "sent")
			if diff := cmp.Diff([]string{"a field that was removed"}, r.differs()); diff != "" {
				t.Errorf("%s: the body was another (-want +got):\n%s", name, diff)
			}
		}
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
	k, err := newKind(all, all.Default(armType))
	if err != nil {
		t.Fatal(err)
	}
	return k
}
