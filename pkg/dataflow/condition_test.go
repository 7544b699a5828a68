package dataflow

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

// TestEqual: a text in a condition equals the value that a user sees in YAML; two values of objects are equal if
// they have the same type too.
func TestEqual(t *testing.T) {
	cases := map[string]struct {
		got, want any
		equal     bool
	}{
		"texts":                         {"a", "a", true},
		"other texts":                   {"a", "b", false},
		"a number and its text":         {int64(7), "7", true},
		"a fraction and its text":       {0.25, "0.25", true},
		"a large fraction":              {1e21, "1000000000000000000000", true},
		"a boolean and its text":        {true, "true", true},
		"the other boolean":             {false, "true", false},
		"a number and another text":     {int64(7), "07", false},
		"two numbers":                   {int64(7), int64(7), true},
		"a number and a fraction":       {int64(7), 7.5, false},
		"a text and a number":           {"7", int64(7), false},
		"a boolean and a number":        {true, int64(1), false},
		"two objects":                   {map[string]any{"a": []any{"b"}}, map[string]any{"a": []any{"b"}}, true},
		"objects with different values": {map[string]any{"a": "b"}, map[string]any{"a": "c"}, false},
		"two lists":                     {[]any{"a", int64(1)}, []any{"a", int64(1)}, true},
		"lists in another order":        {[]any{"a", "b"}, []any{"b", "a"}, false},
		"a list of what prints alike":   {[]any{"1 2"}, []any{"1", "2"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := equal(c.got, c.want); got != c.equal {
				t.Errorf("%v equals %v: %t", c.got, c.want, got)
			}
			for operator, holds := range map[string]bool{Equal: c.equal, NotEqual: !c.equal} {
				reason, err := Condition{Operator: operator}.compare(c.got, c.want, "f")
				if err != nil || (reason == "") != holds {
					t.Errorf("%s: reason %q, error %v", operator, reason, err)
				}
			}
		})
	}
}

// TestTextIsThatOfJSON: a scalar of any object equals the text that JSON has for the scalar.
func TestTextIsThatOfJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(
			rapid.Int64().AsAny(), rapid.Bool().AsAny(), rapid.Int64Range(-1000, 1000).AsAny(),
		).Draw(t, "value")
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var read any
		if err := kubejson.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if !equal(read, string(text)) || equal(read, string(text)+"0") {
			t.Fatalf("%v has the text %q", read, textOf(read))
		}
	})
}

// TestNotEmpty: zero and false are values.
func TestNotEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		empty bool
	}{
		"null": {nil, true}, "no text": {"", true}, "no elements": {[]any{}, true}, "no fields": {map[string]any{}, true},
		"a text": {" ", false}, "an element": {[]any{nil}, false}, "a field": {map[string]any{"a": nil}, false},
		"zero": {int64(0), false}, "false": {false, false}, "a fraction": {0.0, false},
	} {
		t.Run(name, func(t *testing.T) {
			reason, err := Condition{Operator: NotEmpty}.compare(c.value, "", "f")
			if err != nil || (reason != "") != c.empty {
				t.Errorf("reason %q, error %v; empty is %t", reason, err, c.empty)
			}
		})
	}
}

// TestShortened: a reason is short and has whole characters, whatever an object holds.
func TestShortened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 400, 1000).Draw(t, "text")
		short := shortened(text)
		cut, isCut := strings.CutSuffix(short, "...")
		switch {
		case len(text) <= maxShown && short != text:
			t.Fatalf("%q became %q", text, short)
		case len(text) > maxShown && (!isCut || !strings.HasPrefix(text, cut) || len(cut) <= maxShown-utf8.UTFMax):
			t.Fatalf("%d bytes became %q", len(text), short)
		case !utf8.ValidString(short) || len(short) > maxShown+len("..."):
			t.Fatalf("%q has %d bytes", short, len(short))
		}
	})
	if got := shortened(int64(7)); got != "7" {
		t.Errorf("a number became %q", got)
	}
}

// TestCheck: all conditions must hold, the first that does not gives the reason, and an error names the condition.
func TestCheck(t *testing.T) {
	content := map[string]any{"spec": map[string]any{"size": int64(3), "list": []any{"a", "b"}}}
	size := func(operator, value string) Condition {
		return Condition{Operator: operator, FieldPath: "spec.size", Value: value}
	}
	for name, c := range map[string]struct {
		conditions     []Condition
		reason, failed string
	}{
		"none":             {nil, "", ""},
		"both hold":        {[]Condition{size(Equal, "3"), size(NotEqual, "4")}, "", ""},
		"the second":       {[]Condition{size(Equal, "3"), size(Equal, "4")}, "got(3) expected to be 4", ""},
		"both":             {[]Condition{size(Equal, "5"), size(Equal, "4")}, "got(3) expected to be 5", ""},
		"the passed value": {[]Condition{{Operator: Equal, Value: "passed"}}, "", ""},
		"an element":       {[]Condition{{Operator: Equal, FieldPath: "spec.list[1]", Value: "b"}}, "", ""},
		"several elements": {
			[]Condition{{Operator: NotEmpty, FieldPath: "spec.list[*]"}}, "spec.list[*] not found in object", "",
		},
		"of the owner": {[]Condition{{Operator: Equal, FieldPath: "spec.size", ValueFrom: "spec.size"}}, "", ""},
		"not of the owner": {
			[]Condition{{Operator: NotEqual, FieldPath: "spec.size", ValueFrom: "spec.none"}},
			"spec.none not found in the App", "",
		},
		"no path":          {[]Condition{size(Equal, "3"), {Operator: Equal, FieldPath: "a..b"}}, "", "f, condition 1: "},
		"no path of owner": {[]Condition{{Operator: Equal, ValueFrom: "a..b"}}, "", "f, condition 0: "},
		"no operator": {
			[]Condition{size("", "3")}, "", `f, condition 0: there is no operator "": use eq, notEq or notEmpty`,
		},
		"reason over error": {[]Condition{size(Equal, "4"), size("", "3")}, "got(3) expected to be 4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			owner := &unstructured.Unstructured{Object: map[string]any{"kind": "App", "spec": map[string]any{"size": int64(3)}}}
			reason, err := run{Flow: &Flow{Owner: owner}}.check(c.conditions, content, "passed", "f")
			if reason != c.reason || (err == nil) != (c.failed == "") ||
				(err != nil && !strings.HasPrefix(err.Error(), c.failed)) {
				t.Errorf("reason %q, error %v; want %q, %q", reason, err, c.reason, c.failed)
			}
		})
	}
}
