package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

const (
	inSubscription = "/subscriptions/11111111-2222-3333-4444-555555555555"
	inGroup        = inSubscription + "/resourceGroups/Rg_1"
)

// TestBodiesOfAllKindsComeBack: for each kind of the embedded catalogue, "import --body" and then "render" print a body
// as the body was. The bodies have properties that the schema doesn't know, nulls, other cases of letters, values of
// other types, references to other types, and texts that YAML would read as something else.
func TestBodiesOfAllKindsComeBack(t *testing.T) {
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	checks := flag.Lookup("rapid.checks")
	t.Cleanup(func() { _ = checks.Value.Set(checks.DefValue) })
	if err := checks.Value.Set("1"); err != nil { // Of each kind. There are thousands.
		t.Fatal(err)
	}
	kinds := 0
	for _, k := range all.Kinds() {
		if all.Default(k.Type) != k { // "import" takes the default version.
			continue
		}
		definition, err := k.Definition()
		if err != nil {
			t.Fatal(err)
		}
		kinds++
		rapid.Check(t, func(t *rapid.T) { bodyComesBack(t, k, definition) })
	}
	t.Logf("bodies of %d kinds came back", kinds)
}

func bodyComesBack(t *rapid.T, k *catalogue.Kind, definition *catalogue.Definition) {
	id := drawnID(t, k, definition)
	body := drawnObject(t, definition.Body, 5, id)
	if rapid.Bool().Draw(t, "exported") { // with what ARM adds
		body["id"], body["type"], body["name"] = id, k.Type, id[strings.LastIndexByte(id, '/')+1:]
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	printed := throughCommands(t, id, string(text))
	if diff := cmp.Diff(definition.Writable(decoded(t, string(text))), decoded(t, printed)); diff != "" {
		t.Fatalf("%s (-before +after):\n%s\n%s", id, diff, text)
	}
}

// throughCommands returns the body that "render" prints for the manifest that "import --body" prints.
func throughCommands(t *rapid.T, id, body string) string {
	run := func(stdin string, arguments ...string) string {
		var out, errOut bytes.Buffer
		if code := Main(t.Context(), "test", append([]string{"kinship", "azure"}, arguments...), strings.NewReader(stdin),
			&out, &errOut); code != 0 {
			t.Fatalf("%v: exit code %d\n%s\n%s", arguments, code, &errOut, stdin)
		}
		return out.String()
	}
	request := run(run(body, "import", "--keep-unknown", "--body", "-", id), "render", "-f", "-")
	_, request, _ = strings.Cut(request, "\n") // the line with the object
	line, printed, _ := strings.Cut(request, "\n")
	if !strings.HasPrefix(line, "GET https://management.azure.com"+id+"?api-version=") {
		t.Fatalf("the request of %s is %s", id, line)
	}
	return printed
}

// decoded returns a value with whole numbers as they were, to the last digit.
func decoded(t *rapid.T, text string) (value map[string]any) {
	if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return value
}

// drawnID returns an ARM id of a kind.
func drawnID(t *rapid.T, k *catalogue.Kind, definition *catalogue.Definition) string {
	names := append([]string{"Net_1", "default", "a.b-c", "9", "(x)"}, definition.Name.Enum...)
	id, err := k.ID(parentOf(k.Type, k.Owner, k.Scopes), rapid.SampledFrom(names).Draw(t, "name"))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// parentOf returns the ARM id of a resource that may have a resource of a type.
func parentOf(armType, owner string, scopes catalogue.Scope) string {
	outer, isChild := strings.CutSuffix(armType, armType[strings.LastIndexByte(armType, '/'):])
	switch {
	case isChild && strings.Contains(outer, "/"):
		return idOfType(outer)
	case owner == "Microsoft.Management/managementGroups":
		return "/providers/Microsoft.Management/managementGroups/m"
	case armType == catalogue.ResourceGroupType || scopes == catalogue.SubscriptionScope:
		return inSubscription
	case scopes == catalogue.TenantScope:
		return ""
	case scopes.Has(catalogue.ExtensionScope):
		return inGroup + "/providers/Microsoft.Network/virtualNetworks/net"
	default:
		return inGroup
	}
}

// idOfType returns an ARM id of a type.
func idOfType(armType string) string {
	if armType == catalogue.ResourceGroupType {
		return inGroup
	}
	segments := strings.Split(armType, "/")
	return inGroup + "/providers/" + segments[0] + "/" + strings.Join(segments[1:], "/Up_1/") + "/x"
}

// drawnValue returns a value of a shape, and now and then one that the shape doesn't allow.
func drawnValue(t *rapid.T, s *catalogue.Shape, depth int, id string) any {
	if rapid.IntRange(0, 11).Draw(t, "strange") == 0 {
		return drawnStrange(t)
	}
	switch s.Type {
	case catalogue.Object:
		return drawnObject(t, s, depth-1, id)
	case catalogue.List:
		list := []any{}
		for depth > 0 && len(list) < 3 && rapid.Bool().Draw(t, "more") {
			list = append(list, drawnValue(t, s.Items, depth-1, id))
		}
		return list
	case catalogue.Map, catalogue.IDMap:
		m := map[string]any{}
		for depth > 0 && len(m) < 2 && rapid.Bool().Draw(t, "more") {
			m[drawnText(t, s, id)] = drawnValue(t, s.Items, depth-1, id)
		}
		return m
	case catalogue.IDObject:
		m := map[string]any{"id": drawnText(t, s, id)}
		if rapid.IntRange(0, 3).Draw(t, "more") == 0 {
			m[rapid.SampledFrom([]string{"Id", "name", "resourceGroup"}).Draw(t, "key")] = drawnStrange(t)
		}
		return m
	case catalogue.Boolean:
		return rapid.Bool().Draw(t, "bool")
	case catalogue.Integer, catalogue.Number, catalogue.IntOrString:
		return rapid.SampledFrom(numbers).Draw(t, "number")
	default:
		return drawnText(t, s, id)
	}
}

// drawnObject returns an object with some properties of a shape, some of them in another case, and with unknown ones.
func drawnObject(t *rapid.T, s *catalogue.Shape, depth int, id string) map[string]any {
	m, nested := map[string]any{}, map[string]any{}
	for _, p := range s.Properties {
		if depth <= 0 || rapid.IntRange(0, min(len(s.Properties), 4)).Draw(t, "there") > 0 {
			continue
		}
		holder := m
		if p.Nested {
			holder = nested
		}
		holder[inOtherCase(t, p.ARM)] = drawnValue(t, p.Shape, depth-1, id)
	}
	for _, holder := range []map[string]any{m, nested} {
		if rapid.IntRange(0, 5).Draw(t, "unknown") == 0 {
			holder[rapid.SampledFrom(unknown).Draw(t, "key")] = drawnStrange(t)
		}
	}
	if len(nested) > 0 || rapid.IntRange(0, 5).Draw(t, "empty") == 0 {
		m[inOtherCase(t, "properties")] = nested
	}
	return m
}

// inOtherCase returns a name as most services write it, or now and then as others do.
func inOtherCase(t *rapid.T, name string) string {
	switch rapid.IntRange(0, 19).Draw(t, "case") {
	case 0:
		return strings.ToUpper(name)
	case 1:
		return strings.ToLower(name)
	case 2:
		return strings.ToUpper(name[:1]) + name[1:]
	default:
		return name
	}
}

var (
	unknown = []string{
		"later", "Properties", "raw", "ownerRef", "azureName", "managementPolicy", "import", "id", "kubernetes", "a/b",
		"a~1b", "$ref", "", " ", "#", "yes", "1", "é.f", "odata.type", "@odata.type",
	}
	numbers = []any{
		int64(0), int64(-1), int64(70000), 1.5, -1e-7, 1e21, int64(1<<53 + 1), int64(1<<63 - 1), int64(-1 << 63),
	}
	texts = []string{
		"", " ", "yes", "Null", "~", "0x1F", "0755", "1e3", "1_000", ".inf", "1:30", "2020-01-01", "a: b", "# a", "---",
		"- a", "|", "a\nb\n", "\n", " a", "a ", "\ta", "{{a}}", "<&>", "'\"", `\`, "é",
		"\u0085", "\u2028", "\u2029", "\ufeff", "\x00", "\x1b", "\x7f", "\u0080", "\ufffe", "\uffff", "😀",
		"[parameters('a')]", strings.Repeat("long ", 40),
	}
)

// drawnText returns a text that a shape allows, an ARM id, or another text.
func drawnText(t *rapid.T, s *catalogue.Shape, id string) string {
	if len(s.Enum) > 0 && rapid.Bool().Draw(t, "allowed") {
		return inOtherCase(t, rapid.SampledFrom(s.Enum).Draw(t, "enum"))
	}
	isID := s.Type == catalogue.ID || s.Type == catalogue.IDObject || s.Type == catalogue.IDMap
	if !isID || rapid.IntRange(0, 7).Draw(t, "text") == 0 {
		return rapid.SampledFrom(texts).Draw(t, "text")
	}
	wanted := idOfType("Microsoft.Network/virtualNetworks")
	if len(s.Targets) > 0 {
		target := rapid.SampledFrom(s.Targets).Draw(t, "target")
		if wanted = idOfType(target.Type); target.Part != "" {
			wanted += "/" + target.Part + "/part"
		}
	}
	return rapid.SampledFrom([]string{
		wanted, wanted, strings.ToLower(wanted), strings.Replace(wanted, "resourceGroups", "resourcegroups", 1),
		strings.Replace(wanted, inSubscription, "/subscriptions/Other", 1), wanted + "/", wanted + "/parts/a", id,
		id + "/parts/a", id + "/", idOfType("My.Other/things/parts"), inSubscription, inGroup, "/", "/x", "//",
		"/providers/My.Other/things/a",
		"/subscriptions//resourceGroups/a", wanted + "?a=b", wanted + "/a b/c",
	}).Draw(t, "id")
}

func drawnStrange(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		nil, nil, "text", int64(7), 1.5, true,
		[]any{},
		[]any{nil},
		map[string]any{},
		map[string]any{"": nil},
		map[string]any{"A": []any{map[string]any{"b": nil, "B": 1.5}, []any{[]any{}}}},
	}).Draw(t, "strange value")
}
