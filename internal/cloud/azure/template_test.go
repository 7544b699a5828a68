package azure

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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
	template, _, err := Template(id, table+"/routes", "2021-01-01", body, "2020-01-01")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, template["resources"]); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

// TestTemplateSecrets: a secret is in the values of the parameters, and not in the template.
func TestTemplateSecrets(t *testing.T) {
	id, err := ParseID("/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/a.b/c/d")
	if err != nil {
		t.Fatal(err)
	}
	body := map[string]any{"properties": map[string]any{
		"password": Secure{"[hush]"}, "list": []any{map[string]any{"key": Secure{map[string]any{"a": "hush"}}}},
	}}
	template, values, err := Template(id, "a.b/c", "2021-01-01", body, "2020-01-01")
	if err != nil {
		t.Fatal(err)
	}
	resource, _ := template["resources"].(map[string]any)["resource"].(map[string]any)
	got := map[string]any{"body": resource["properties"], "parameters": template["parameters"], "values": values}
	want := map[string]any{
		"body": map[string]any{
			"list": []any{map[string]any{"key": "[parameters('secret1')]"}}, "password": "[parameters('secret2')]",
		},
		"parameters": map[string]any{
			"secret1": map[string]any{"type": "secureObject"}, "secret2": map[string]any{"type": "secureString"},
		},
		"values": map[string]any{
			"secret1": map[string]any{"value": map[string]any{"a": "hush"}}, "secret2": map[string]any{"value": "[hush]"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTemplateHasNoExpression draws bodies and names. A template with an expression of a user is refused with the
// field's name, or the expression is escaped: at every depth, in keys and in values.
func TestTemplateHasNoExpression(t *testing.T) {
	text := rapid.OneOf(rapid.SampledFrom([]string{
		"[listKeys('a', 'b').key]", "[[x]", "[x", "x]", "[]", "[", "", "plain", "[a] and [b]",
	}), rapid.StringMatching(`[\[\]a\n ]{0,5}`))
	body := rapid.MapOfN(text, rapid.Deferred(func() *rapid.Generator[any] { return values(text, 3) }), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		id, err := ParseID("/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/a.b/c/d")
		if err != nil {
			t.Fatal(err)
		}
		drawn := body.Draw(t, "body")
		template, _, err := Template(id, "a.b/c", "2021-01-01", drawn, "2020-01-01")
		if err != nil {
			if !strings.Contains(err.Error(), "begins with [") || !strings.Contains(err.Error(), "--azure-submission=put") {
				t.Errorf("refused with %q", err)
			}
			return
		}
		walk(template, func(text string, isKey bool) {
			if isKey && strings.HasPrefix(text, "[") {
				t.Errorf("the template has the key %q", text)
			}
			if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") && !strings.HasPrefix(text, "[[") {
				t.Errorf("the template has the expression %q", text)
			}
		})
	})
}

// TestTemplateHasNoWord draws bodies with the words of templates as keys. A template with a word of a user is refused
// with the key's name: scope would change the id of the resource, and resources would make further resources. A list
// "copy", which is a loop, is refused at every depth. Nothing else is refused.
func TestTemplateHasNoWord(t *testing.T) {
	words := []string{
		"scope", "Scope", "resources", "condition", "copy", "COPY", "dependsOn", "existing", "Name", "apiversion", "comments",
		"import", "extension", "metadata", "asserts", "@options",
	}
	plain := rapid.SampledFrom([]string{"name", "type", "apiVersion", "location", "properties", "scopes", "a"})
	inner := values(rapid.SampledFrom([]string{"copy", "Copy", "scope", "a"}), 3)
	body := rapid.Custom(func(t *rapid.T) map[string]any {
		drawn := rapid.MapOfN(plain, inner, 0, 3).Draw(t, "plain")
		if rapid.Bool().Draw(t, "has a word") {
			drawn[rapid.SampledFrom(words).Draw(t, "word")] = inner.Draw(t, "value")
		}
		return drawn
	})
	rapid.Check(t, func(t *rapid.T) {
		id, err := ParseID("/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/a.b/c/d")
		if err != nil {
			t.Fatal(err)
		}
		drawn, bad := body.Draw(t, "body"), ""
		for key := range drawn {
			if slices.Contains(words, key) {
				bad = key
			}
		}
		loops := hasLoop(drawn)
		template, _, err := Template(id, "a.b/c", "2021-01-01", drawn, "2020-01-01")
		if err != nil {
			if bad == "" && !loops || !strings.Contains(err.Error(), "--azure-submission=put") {
				t.Errorf("a body with the word %q, with a loop: %t, is refused with %q", bad, loops, err)
			}
			return
		}
		if bad != "" || hasLoop(template) {
			t.Errorf("the template has the word %q of the body, or a loop", bad)
		}
		resource, _ := template["resources"].(map[string]any)["resource"].(map[string]any)
		if resource["name"] != "d" || resource["type"] != "a.b/c" || resource["apiVersion"] != "2021-01-01" {
			t.Errorf("the resource is %v", resource)
		}
	})
}

// hasLoop reports whether a value has a list with the key copy.
func hasLoop(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if _, isList := inner.([]any); isList && strings.EqualFold(key, "copy") || hasLoop(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasLoop)
	}
	return false
}

// values draws texts, lists and maps.
func values(text *rapid.Generator[string], depth int) *rapid.Generator[any] {
	if depth == 0 {
		return text.AsAny()
	}
	inner := values(text, depth-1)
	return rapid.OneOf(text.AsAny(), rapid.SliceOfN(inner, 0, 2).AsAny(), rapid.MapOfN(text, inner, 0, 2).AsAny())
}

// walk calls see with each text of a value.
func walk(value any, see func(text string, isKey bool)) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			see(key, true)
			walk(inner, see)
		}
	case []any:
		for _, inner := range v {
			walk(inner, see)
		}
	case string:
		see(v, false)
	}
}
