package catalogue_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// secretSpec returns a spec with a SecretKey in each place of a secret, or nil for a shape without secrets.
func secretSpec(s *catalogue.Shape, keys *int) any {
	switch s.Type {
	case catalogue.Secret:
		*keys++
		return map[string]any{"name": "vault", "key": fmt.Sprintf("key-%d", *keys)}
	case catalogue.Object:
		m := map[string]any{}
		for _, p := range s.Properties {
			if inner := secretSpec(p.Shape, keys); inner != nil {
				m[p.Name] = inner
			}
		}
		if len(m) > 0 {
			return m
		}
	case catalogue.List:
		if inner := secretSpec(s.Items, keys); inner != nil {
			return []any{inner}
		}
	case catalogue.Map:
		if inner := secretSpec(s.Items, keys); inner != nil {
			return map[string]any{"a": inner}
		}
	case catalogue.IDMap:
		if inner := secretSpec(s.Items, keys); inner != nil {
			return []any{map[string]any{"ref": map[string]any{"self": "parts/a"}, "value": inner}}
		}
	default:
	}
	return nil
}

// kindsWithSecrets returns the kinds of the embedded catalogue that have secrets, and their definitions.
func kindsWithSecrets(t *testing.T) map[*catalogue.Kind]*catalogue.Definition {
	t.Helper()
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	found, types := map[*catalogue.Kind]*catalogue.Definition{}, map[string]bool{}
	for _, k := range c.Kinds() {
		definition, err := k.Definition()
		if err != nil {
			t.Fatal(err)
		}
		if len(definition.Sensitive) > 0 {
			found[k], types[k.Type] = definition, true
		}
	}
	if len(types) != 197 {
		t.Fatalf("%d types have secrets, want 197", len(types))
	}
	return found
}

// TestSecretsOfAllTypes: in each place of a secret the API server accepts a SecretKey. The ARM body has the value only
// after Reveal. FromARM and Strip drop the value. spec.raw with the value is refused.
func TestSecretsOfAllTypes(t *testing.T) {
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	with := catalogue.Conversion{Parent: network, Name: "parts"}
	for k, definition := range kindsWithSecrets(t) {
		keys := 0
		spec, _ := secretSpec(definition.Body, &keys).(map[string]any)
		if keys != len(k.SecretFields) {
			t.Fatalf("%s: %d keys in the fields %v", k.Type, keys, k.SecretFields)
		}
		api := newServer(t, c, k)
		checkRaw(t, k, definition, api)
		if keys == 0 {
			t.Logf("%s in %s: its schema has none of %v", k.Type, k.APIVersion, definition.Sensitive)
			continue
		}
		spec["ownerRef"] = map[string]any{"azure": map[string]any{"subscription": "s"}}
		if err := api.check(spec); err != nil {
			t.Fatalf("%s: %v", k.Type, err)
		}
		found, err := k.Secrets(spec)
		if err != nil || len(found) != keys {
			t.Fatalf("%s: found %v of %d secrets: %v", k.Type, found, keys, err)
		}
		body, err := k.ToARM(spec, with)
		if err != nil {
			t.Fatal(err)
		}
		if hidden := catalogue.HiddenIn(body); len(hidden) != keys {
			t.Fatalf("%s: %d of %d secrets in the body", k.Type, len(hidden), keys)
		}
		revealed, err := catalogue.Reveal(body, func(h catalogue.Hidden) (any, error) {
			return h.Decode([]byte(`{"a": "marker of ` + h.Key + `"}`))
		})
		if err != nil {
			t.Fatal(err)
		}
		checkMarkers(t, k, revealed, keys)
		again, rest, err := k.FromARM(revealed, with)
		if err != nil {
			t.Fatal(err)
		}
		catalogue.SetRest(again, rest)
		checkMarkers(t, k, body, 0)
		checkMarkers(t, k, again, 0)
		checkMarkers(t, k, definition.Strip(revealed), 0)
	}
}

// checkMarkers fails unless a value has a number of secrets.
func checkMarkers(t *testing.T, k *catalogue.Kind, value any, want int) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(text), "marker of "); got != want {
		t.Fatalf("%s: %d secrets instead of %d in %s", k.Type, got, want, text)
	}
}

// checkRaw fails unless spec.raw with a secret is refused, by the API server where the path tells, and in any case by
// ToARM.
func checkRaw(t *testing.T, k *catalogue.Kind, definition *catalogue.Definition, api server) {
	t.Helper()
	for _, path := range definition.Sensitive {
		place := strings.ToUpper(strings.ReplaceAll(string(path), "*", "a"))
		spec := map[string]any{
			"ownerRef": map[string]any{"azure": map[string]any{"subscription": "s"}},
			"raw":      []any{map[string]any{"path": place, "value": "plain"}},
		}
		if err := api.check(spec); err == nil || !strings.Contains(err.Error(), "spec.raw[0].path") {
			t.Fatalf("%s: the API server accepts %s in spec.raw: %v", k.Type, path, err)
		}
		outer, inner, _ := strings.Cut(place[1:], "/")
		value := map[string]any{}
		nested := value
		for segment := range strings.SplitSeq(inner, "/") {
			deeper := map[string]any{}
			nested[segment], nested = deeper, deeper
		}
		nested["a"] = "plain"
		spec["raw"] = []any{map[string]any{"path": "/" + outer, "value": value}}
		_, err := k.ToARM(spec, catalogue.Conversion{Parent: network, Name: "parts"})
		if err == nil || !strings.Contains(err.Error(), "which is a secret: keep the value in a Secret") {
			t.Fatalf("%s: ToARM accepts %s in spec.raw: %v", k.Type, path, err)
		}
	}
}

// TestHidden: a secret that is an object is read from JSON, and the error does not show the value.
func TestHidden(t *testing.T) {
	h := catalogue.Hidden{SecretKey: catalogue.SecretKey{Name: "hub", Key: "apns"}, JSON: true}
	if got, err := h.Decode([]byte(`{"a": 1}`)); err != nil || cmp.Diff(map[string]any{"a": int64(1)}, got) != "" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{`hunter2`, `"hunter2"`, `["hunter2"]`, `null`} {
		_, err := h.Decode([]byte(text))
		if err == nil || err.Error() != "the key apns of Secret hub is no JSON object" {
			t.Errorf("%s: %v", text, err)
		}
	}
	h.JSON = false
	if got, err := h.Decode([]byte(`{"a": 1}`)); err != nil || got != `{"a": 1}` {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestWithout: a value is removed wherever a path leads, in any case of letters, and the body is not changed.
func TestWithout(t *testing.T) {
	const body = `{"Properties":{"a":1,"list":[{"b":1,"c":2},{"c":3}],"map":{"x":{"b":1},"y":2},"texts":["t"]}}`
	for path, want := range map[catalogue.Path]string{
		"/properties/A":         `{"Properties":{"list":[{"b":1,"c":2},{"c":3}],"map":{"x":{"b":1},"y":2},"texts":["t"]}}`,
		"/properties/list/*/b":  `{"Properties":{"a":1,"list":[{"c":2},{"c":3}],"map":{"x":{"b":1},"y":2},"texts":["t"]}}`,
		"/properties/map/*/b":   `{"Properties":{"a":1,"list":[{"b":1,"c":2},{"c":3}],"map":{"x":{},"y":2},"texts":["t"]}}`,
		"/properties/map/*":     `{"Properties":{"a":1,"list":[{"b":1,"c":2},{"c":3}],"map":{},"texts":["t"]}}`,
		"/properties/texts/*":   `{"Properties":{"a":1,"list":[{"b":1,"c":2},{"c":3}],"map":{"x":{"b":1},"y":2},"texts":[]}}`,
		"/properties/missing/b": body,
		"/properties/list/b":    body,
	} {
		var before, wanted, after map[string]any
		recoded(t, json.RawMessage(body), &before)
		recoded(t, json.RawMessage(want), &wanted)
		got := catalogue.Without(before, path)
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		recoded(t, json.RawMessage(body), &after)
		if diff := cmp.Diff(after, before); diff != "" {
			t.Errorf("%s changed the body (-before +after):\n%s", path, diff)
		}
	}
}

// TestTypedSecret: a typed spec has SecretKeys, and ToArm refuses the spec, because ToArm can't know the values.
func TestTypedSecret(t *testing.T) {
	eachTyped(t, func(k *catalogue.Kind, definition *catalogue.Definition, goType reflect.Type) {
		keys := 0
		spec, _ := secretSpec(definition.Body, &keys).(map[string]any)
		if keys == 0 {
			return
		}
		typed := newSpec(t, goType)
		recoded(t, spec, typed)
		var back map[string]any
		recoded(t, typed, &back)
		if diff := cmp.Diff(spec, back); diff != "" {
			t.Errorf("%s (-spec +typed):\n%s", k.Type, diff)
		}
		if _, err := typed.ToArm(network); err == nil || !strings.Contains(err.Error(), "isn't known here") {
			t.Errorf("%s: the ARM form has a secret: %v", k.Type, err)
		}
	})
}
