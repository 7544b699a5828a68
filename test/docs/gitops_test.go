package docs_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/internal/docs"
	"github.com/kinship-dev/kinship/test/gitops"
)

// sample is an object in one phase, with the results of health checks.
type sample struct {
	name, object string
	argo         string
	// flux is the expression that is true; none if Flux asks again, empty for kinds without expressions.
	flux string
}

var samples = []sample{
	{"not looked at", `{metadata: {generation: 1}}`, "Progressing", "none"},
	{
		"looked at, without conditions", `{metadata: {generation: 1}, status: {observedGeneration: -1}}`,
		"Progressing", "inProgress",
	},
	{
		"a Usage that waits",
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Effective, status: "False"},
			{type: Ready, status: "False", reason: UsingNotFound, message: "waiting for Deployment/web"}]}}`,
		"Progressing", "",
	},
	{
		"a Usage in force",
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`,
		"Healthy", "",
	},
	{
		"an edited Usage",
		`{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`,
		"Progressing", "",
	},
	{
		"a Usage in a circle",
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Ready, status: "False", reason: Cycle}]}}`,
		"Degraded", "",
	},
	{
		"an IotConnector without progress",
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
			{type: Ready, status: "False", reason: ProgressDeadlineExceeded}, {type: Stalled, status: "True"}]}}`,
		"Degraded", "",
	},
	{
		"an Azure object that is refused",
		`{metadata: {generation: 1}, status: {conditions: [{type: Ready, status: "False", reason: InvalidConfiguration}]}}`,
		"Degraded", "",
	},
	{
		"an application",
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Synced, status: "True"}]}}`,
		"Healthy", "current",
	},
	{
		"an application with an error",
		`{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Synced, status: "False"}]}}`,
		"Progressing", "inProgress",
	},
	{
		"an edited application",
		`{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Synced, status: "True"}]}}`,
		"Progressing", "inProgress",
	},
}

// TestHealth evaluates the health checks of docs/gitops.md, as Argo CD and Flux do.
func TestHealth(t *testing.T) {
	page, err := docs.Read(root, "docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	var script string
	var expressions struct{ InProgress, Current string }
	for _, b := range page.Blocks {
		var doc struct {
			Data map[string]string
			Spec struct {
				HealthCheckExprs []struct{ InProgress, Current string }
			}
		}
		if b.Language != "yaml" {
			continue
		}
		if err := yaml.Unmarshal([]byte(b.Text), &doc); err != nil {
			t.Errorf("docs/gitops.md:%d: %v", b.Line, err)
		}
		if text := doc.Data["resource.customizations"]; text != "" {
			script = argoScript(t, text)
		}
		for _, e := range doc.Spec.HealthCheckExprs {
			expressions = e
		}
	}
	for _, s := range samples {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(s.object), &object); err != nil {
			t.Fatal(err)
		}
		if got, _ := gitops.ArgoCD(t, script, object); got != s.argo {
			t.Errorf("%s: Argo CD says %s, want %s", s.name, got, s.argo)
		}
		if s.flux == "" {
			continue
		}
		for name, expression := range map[string]string{
			"inProgress": expressions.InProgress, "current": expressions.Current,
		} {
			got, err := gitops.Flux(t, expression, object) // After an error, Flux asks again.
			if got != (s.flux == name) {
				t.Errorf("%s: %s is %v in Flux, want %s alone, error %v", s.name, name, got, s.flux, err)
			}
		}
	}
}

// argoScript returns the script of the first key, and checks that all keys have it.
func argoScript(t *testing.T, text string) string {
	t.Helper()
	var keys map[string]map[string]string
	if err := yaml.Unmarshal([]byte(text), &keys); err != nil {
		t.Fatal(err)
	}
	var script string
	for key, settings := range keys {
		if script != "" && settings["health.lua"] != script {
			t.Errorf("%s has another script", key)
		}
		script = settings["health.lua"]
	}
	if len(keys) < 4 || script == "" {
		t.Fatalf("%d keys", len(keys))
	}
	return script
}
