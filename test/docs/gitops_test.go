package docs_test

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/internal/docs"
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
		if got := argoHealth(t, script, object); got != s.argo {
			t.Errorf("%s: Argo CD says %s, want %s", s.name, got, s.argo)
		}
		if s.flux == "" {
			continue
		}
		for name, expression := range map[string]string{
			"inProgress": expressions.InProgress, "current": expressions.Current,
		} {
			if got := holds(t, expression, object); got != (s.flux == name) {
				t.Errorf("%s: %s is %v in Flux, want %s alone", s.name, name, got, s.flux)
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

func argoHealth(t *testing.T, script string, object map[string]any) string {
	t.Helper()
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", toLua(state, object))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	result, is := state.Get(-1).(*lua.LTable)
	if !is {
		t.Fatalf("the script returns %v", state.Get(-1))
	}
	return result.RawGetString("status").String()
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, element := range v {
			table.RawSetString(key, toLua(state, element))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, element := range v {
			table.Append(toLua(state, element))
		}
		return table
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	default:
		return lua.LNil
	}
}

// holds evaluates an expression as Flux does. An expression that can't be evaluated does not hold.
func holds(t *testing.T, expression string, object map[string]any) bool {
	t.Helper()
	env, err := cel.NewEnv(ext.Strings(), cel.OptionalTypes(),
		cel.Variable("metadata", cel.DynType), cel.Variable("status", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(strings.TrimSpace(expression))
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := program.Eval(object)
	return err == nil && value.Value() == true
}
