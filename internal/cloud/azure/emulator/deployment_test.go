package emulator

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	deployment1  = group + "/providers/Microsoft.Resources/deployments/d"
	networksType = "Microsoft.Network/virtualNetworks"
)

// template is the body of a deployment.
func template(resources string) string {
	return `{"properties": {"mode": "Incremental", "template": {
		"languageVersion": "2.0", "resources": ` + resources + `}}}`
}

// symbolic is one resource of a template.
func symbolic(typ, name, more string) string {
	return `{"type": "` + typ + `", "name": "` + name + `", "apiVersion": "2020-03-01"` + more + `}`
}

func TestDeploymentFollowsDependencies(t *testing.T) {
	w := newWorld(t).ready(group, located(""))
	r := w.put(deployment1, template(`{
		"nic": `+symbolic("Microsoft.Network/networkInterfaces", "nic", `, "dependsOn": ["subnet"], "location": "westus2",
			"properties": {"subnet": {"id": "[resourceId('Microsoft.Network/virtualNetworks/subnets', 'net', 'one')]"}}`)+`,
		"subnet": `+symbolic("Microsoft.Network/virtualNetworks/subnets", "net/one", `, "dependsOn": ["net"]`)+`,
		"net": `+symbolic("Microsoft.Network/virtualNetworks", "net", `, "dependsOn": ["group"], "location": "westus2"`)+`,
		"group": `+symbolic("Microsoft.Storage/storageAccounts", "sa", `, "existing": true`)+`}`))
	if r.status != http.StatusOK || r.state() != "Accepted" {
		t.Fatalf("%d %v", r.status, r.body)
	}
	w.cloud.Remove(id(t, deployment1))
	w.ready(group+"/providers/Microsoft.Storage/storageAccounts/sa", located(""))
	body := template(`{
		"subnet": ` + symbolic("Microsoft.Network/virtualNetworks/subnets", "net/one", `, "dependsOn": ["net"]`) + `,
		"net": ` + symbolic(networksType, "net", `, "dependsOn": ["account"], "location": "westus2"`) + `,
		"account": ` + symbolic("Microsoft.Storage/storageAccounts", "sa", `, "existing": true`) + `}`)
	poll := strings.TrimPrefix(w.put(deployment1, body).header.Get("Azure-AsyncOperation"), "http://example.com")
	states := make([]string, 8)
	for i := range states {
		states[i] = w.get(deployment1).state()
		w.now = w.now.Add(25 * time.Millisecond)
	}
	want := []string{"Accepted", "Running", "Running", "Running", "Running", "Succeeded", "Succeeded", "Succeeded"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("every 25 ms (-want, +got): %s", diff)
	}
	outputs := mapOf(w.get(deployment1).body["properties"])["outputResources"]
	if diff := cmp.Diff([]any{map[string]any{"id": vnet}, map[string]any{"id": subnet}}, outputs); diff != "" {
		t.Errorf("outputs (-want, +got): %s", diff)
	}
	if status := w.get(poll).body["status"]; status != "Succeeded" {
		t.Errorf("the poll says %v", status)
	}
	w.is("its deletion", w.delete(deployment1), 202)
	w.settle().is("leaves its resources", w.get(subnet), 200)
	if refused := w.cloud.Refused(); len(refused) != 0 {
		t.Errorf("refused: %v", w.cloud.Refusals())
	}
}

func TestDeploymentFails(t *testing.T) {
	for name, resources := range map[string]string{
		"an existing resource is missing": `{"a": ` + symbolic(networksType, "net", `, "existing": true`) + `,
			"b": ` + symbolic(networksType+"/subnets", "net/one", `, "dependsOn": ["a"]`) + `}`,
		"a reference is missing": `[` + symbolic("Microsoft.Network/networkInterfaces", "nic", `, "location": "westus2",
			"properties": {"subnet": {"id": "`+subnet+`"}}`) + `]`,
	} {
		w := newWorld(t).ready(group, located(""))
		w.is(name, w.put(deployment1, template(resources)), 200)
		r := w.settle().get(deployment1)
		failure := mapOf(mapOf(r.body["properties"])["error"])
		if r.state() != "Failed" || failure["code"] != "DeploymentFailed" {
			t.Errorf("%s: %s %v", name, r.state(), failure)
		}
		w.is("nothing was made", w.get(subnet), 404)
	}
}

func TestTemplatesThatAreRefused(t *testing.T) {
	w := newWorld(t).ready(group, located(""))
	thing := func(name, need string) string {
		return symbolic("Microsoft.Test/things", name, `, "dependsOn": ["`+need+`"]`)
	}
	for name, one := range map[string]struct{ body, code string }{
		"none":                  {`{}`, "InvalidRequestContent"},
		"another mode":          {`{"properties": {"mode": "Complete", "template": {}}}`, "InvalidRequestContent"},
		"no resources":          {template(`[]`), "InvalidTemplate"},
		"an unknown dependency": {template(`[` + thing("a", "b") + `]`), "InvalidTemplate"},
		"a cycle":               {template(`[` + thing("a", "b") + `,` + thing("b", "a") + `]`), "InvalidTemplate"},
		"an expression": {
			template(`[` + symbolic("Microsoft.Test/things", "[uniqueString('a')]", "") + `]`), "InvalidTemplate",
		},
		"names and types differ": {template(`[` + symbolic("Microsoft.Test/things/parts", "a", "") + `]`), "InvalidTemplate"},
		"a wrong location": {
			template(`[` + symbolic("Microsoft.Network/virtualNetworks", "a", `, "location": "x"`) + `]`),
			"LocationNotAvailableForResourceType",
		},
	} {
		w.refused(name, w.put(deployment1, one.body), 400, one.code)
	}
	w.is("nothing was made", w.get(deployment1), 404)
}
