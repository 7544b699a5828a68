package azure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTemplate: the resource of a deployment depends on its owner, which the deployment doesn't make.
func TestTemplate(t *testing.T) {
	const table = "Microsoft.Network/routeTables"
	id, err := ParseID("/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/" +
		table + "/t/routes/r")
	if err != nil {
		t.Fatal(err)
	}
	body := map[string]any{"properties": map[string]any{"texts": []any{"[x]", "x"}}}
	want := map[string]any{
		"owner": map[string]any{"existing": true, "type": table, "apiVersion": "2020-01-01", "name": "t"},
		"resource": map[string]any{
			"type": table + "/routes", "apiVersion": "2021-01-01", "name": "t/r", "dependsOn": []any{"owner"},
			"properties": map[string]any{"texts": []any{"[[x]", "x"}},
		},
	}
	template := Template(id, table+"/routes", "2021-01-01", body, "2020-01-01")
	if diff := cmp.Diff(want, template["resources"]); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}
