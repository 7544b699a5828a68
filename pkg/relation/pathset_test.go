package relation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestPathSet sets a value, and leaves the content that it was given as it was.
func TestPathSet(t *testing.T) {
	for name, c := range map[string]struct{ content, path, want, fails string }{
		"a field":             {`{"spec":{"a":1}}`, "spec.a", `{"spec":{"a":"v"}}`, ""},
		"a new field":         {`{"kind":"K"}`, "spec.a.b", `{"kind":"K","spec":{"a":{"b":"v"}}}`, ""},
		"an element":          {`{"spec":[{"a":1},{"b":2}]}`, "spec[1].b", `{"spec":[{"a":1},{"b":"v"}]}`, ""},
		"the next element":    {`{"spec":["x"]}`, "spec[1]", `{"spec":["x","v"]}`, ""},
		"a list":              {`{}`, "spec.a[1].b", `{"spec":{"a":[null,{"b":"v"}]}}`, ""},
		"a key with dots":     {`{}`, "metadata.labels['a.b/c']", `{"metadata":{"labels":{"a.b/c":"v"}}}`, ""},
		"another type":        {`{"spec":{"a":"text"}}`, "spec.a.b", "", "spec.a is a string, not an object"},
		"no list":             {`{"spec":{"a":{}}}`, "spec.a[0]", "", "spec.a is an object, not a list"},
		"every element":       {`{"spec":{"a":[1]}}`, "spec.a[*]", "", "spec.a[*] stands for several elements"},
		"an element far away": {`{"spec":{"a":[1]}}`, "spec.a[1001]", "", "spec.a has 1 elements"},
	} {
		t.Run(name, func(t *testing.T) {
			var content map[string]any
			if err := json.Unmarshal([]byte(c.content), &content); err != nil {
				t.Fatal(err)
			}
			got, err := relation.MustPath(c.path).Set(content, "v")
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("error %v, want %q", err, c.fails)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if text, _ := json.Marshal(got); c.fails == "" && string(text) != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
			text, _ := json.Marshal(content)
			if diff := cmp.Diff(c.content, string(text)); diff != "" {
				t.Errorf("the content was changed:\n%s", diff)
			}
		})
	}
}

// TestBudget: a budget counts what Set copies and fills, and the values.
func TestBudget(t *testing.T) {
	const bytes = 100
	for name, c := range map[string]struct {
		path  string
		value any
		fits  int // how often Set fits into the budget
	}{
		"a field":       {"a", int64(1), 50}, // 1 for the value, and 1 for the field
		"a text":        {"a", strings.Repeat("x", 48), 2},
		"a far element": {"a[90]", "", 1},
		"a list":        {"a", []any{"xx", map[string]any{"k": true}}, 12},
	} {
		t.Run(name, func(t *testing.T) {
			budget := relation.NewBudget(bytes)
			fits := 0
			for ; fits <= bytes; fits++ {
				if _, err := relation.MustPath(c.path).SetWithin(map[string]any{}, c.value, budget); err != nil {
					break
				}
			}
			if fits != c.fits {
				t.Errorf("%d times within the budget, want %d", fits, c.fits)
			}
		})
	}
	wide := map[string]any{"b": map[string]any{}}
	for i := range bytes {
		wide[fmt.Sprint(i)] = true
	}
	for _, path := range []string{"b", "b.c"} {
		content := wide
		if path == "b.c" {
			content = map[string]any{"b": map[string]any{"c": strings.Repeat("x", 2*bytes), "d": strings.Repeat("x", 2*bytes)}}
		}
		if _, err := relation.MustPath(path).Remove(content, relation.NewBudget(bytes)); err == nil {
			t.Errorf("removing %s costs nothing", path)
		}
		if _, err := relation.MustPath(path).Remove(content, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestPointer(t *testing.T) {
	for path, want := range map[string]string{
		"spec.workloadRefs": "/spec/workloadRefs", "metadata.labels['a/b~c']": "/metadata/labels/a~1b~0c", "a[0].b": "/a/0/b",
	} {
		if got, ok := relation.MustPath(path).Pointer(); got != want || !ok {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got, ok := relation.MustPath("a[*].b").Pointer(); ok {
		t.Errorf("a path to several fields has the pointer %s", got)
	}
}

// FuzzPathSet: Set never panics, and Values finds what Set has set.
func FuzzPathSet(f *testing.F) {
	f.Add(`{"spec":{"a":[{"b":1}]}}`, "spec.a[3].b")
	f.Add(`{"spec":[[[]]]}`, "spec[0][0][5]")
	f.Add(`{}`, "a['b.c'][0].d")
	f.Fuzz(func(t *testing.T, text, at string) {
		var content map[string]any
		path, err := relation.ParsePath(at)
		if err != nil || json.Unmarshal([]byte(text), &content) != nil {
			return // No path, or no object.
		}
		set, err := path.Set(content, "value")
		if err != nil {
			return
		}
		if values := path.Values(set); len(values) != 1 || values[0].Value != "value" {
			t.Errorf("%s in %v: %v", at, set, values)
		}
	})
}

// TestPathRemove removes a field, and leaves the content that it was given as it was. A missing field is
// missing already.
func TestPathRemove(t *testing.T) {
	const several = "[*] stands for several elements: name one"
	for name, c := range map[string]struct{ content, path, want, fails string }{
		"a field of the object":  {`{"kind":"K","spec":{"a":1}}`, "spec", `{"kind":"K"}`, ""},
		"an inner field":         {`{"spec":{"a":1,"b":2}}`, "spec.a", `{"spec":{"b":2}}`, ""},
		"the last inner field":   {`{"spec":{"a":1}}`, "spec.a", `{"spec":{}}`, ""},
		"a field of an element":  {`{"spec":[{"a":1},{"a":2}]}`, "spec[1].a", `{"spec":[{"a":1},{}]}`, ""},
		"a key with dots":        {`{"labels":{"a.b/c":1,"d":2}}`, "labels['a.b/c']", `{"labels":{"d":2}}`, ""},
		"a missing field":        {`{"spec":{"a":1}}`, "spec.b", `{"spec":{"a":1}}`, ""},
		"a missing root":         {`{"spec":{"a":1}}`, "status", `{"spec":{"a":1}}`, ""},
		"a missing object":       {`{"spec":{"a":1}}`, "status.a", `{"spec":{"a":1}}`, ""},
		"below another type":     {`{"spec":"text"}`, "spec.a", `{"spec":"text"}`, ""},
		"an element":             {`{"spec":[1]}`, "spec[0]", "", `path "spec[0]": only a field of an object can be removed`},
		"of each element":        {`{"spec":[{"a":1},{"a":2}]}`, "spec[*].a", "", several},
		"of each of one element": {`{"spec":[{"a":1}]}`, "spec[*].a", "", several},
		"of each of none":        {`{"spec":[]}`, "spec[*].a", "", several},
	} {
		t.Run(name, func(t *testing.T) {
			var content map[string]any
			if err := json.Unmarshal([]byte(c.content), &content); err != nil {
				t.Fatal(err)
			}
			got, err := relation.MustPath(c.path).Remove(content, nil)
			if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Fatalf("error %v, want %q", err, c.fails)
			}
			if text, _ := json.Marshal(got); c.fails == "" && string(text) != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
			text, _ := json.Marshal(content)
			if diff := cmp.Diff(c.content, string(text)); diff != "" {
				t.Errorf("the content was changed:\n%s", diff)
			}
		})
	}
}

// TestPathSetThenRemove: Remove takes away what Set has set, and Set writes to no other field.
func TestPathSetThenRemove(t *testing.T) {
	steps := rapid.SampledFrom([]string{".a", ".b", "[0]", "[2]", "['x.y']"})
	rapid.Check(t, func(t *rapid.T) {
		text := "spec" + strings.Join(rapid.SliceOfN(steps, 0, 4).Draw(t, "steps"), "") + ".end"
		path := relation.MustPath(text)
		if path.String() != text {
			t.Fatalf("the path %s has the text %s", text, path)
		}
		before := map[string]any{"other": rapid.Int64().Draw(t, "other")}
		set, err := path.Set(before, "value")
		if err != nil {
			t.Fatal(err)
		}
		if values := path.Values(set); len(values) != 1 || values[0].Value != "value" || values[0].Field != text {
			t.Fatalf("%s leads to %v", text, values)
		}
		removed, err := path.Remove(set, nil)
		if err != nil || len(path.Values(removed)) > 0 {
			t.Fatalf("%s leads to %v after Remove, error %v", text, path.Values(removed), err)
		}
		for _, content := range []map[string]any{set, removed} {
			if content["other"] != before["other"] || len(content) != 2 {
				t.Fatalf("%s changed another field: %v", text, content)
			}
		}
		again, err := path.Set(removed, "value")
		if diff := cmp.Diff(set, again); diff != "" || err != nil {
			t.Fatalf("set, removed and set again: error %v (-want +got):\n%s", err, diff)
		}
	})
}

// TestPathRoot: callers refuse paths by the fields before the first list.
func TestPathRoot(t *testing.T) {
	for path, want := range map[string][]string{
		"metadata.labels['a.b']": {"metadata", "labels", "a.b"}, "spec[0].b": {"spec"}, "spec.a[*].b": {"spec", "a"},
		"kind": {"kind"},
	} {
		if diff := cmp.Diff(want, relation.MustPath(path).Root()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestEmptyPath: the zero Path leads to no field, and nothing can be set or removed there.
func TestEmptyPath(t *testing.T) {
	var none relation.Path
	content := map[string]any{"a": "b"}
	if _, err := none.Set(content, "v"); err == nil {
		t.Error("a value was set at no field")
	}
	if _, err := none.Remove(content, nil); err == nil {
		t.Error("no field was removed")
	}
	if values := none.Values(content); values != nil || none.Root() != nil || none.String() != "" {
		t.Errorf("an empty path leads to %v", values)
	}
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, `"a..b"`) {
			t.Errorf("MustPath panics with %s", text)
		}
	}()
	relation.MustPath("a..b")
}

// TestTypeNames: an error names the type of the value that is in the way, and the object itself where a path
// begins with another type.
func TestTypeNames(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":[1]}`: "a is a list, not an object", `{"a":true}`: "a is a boolean, not an object",
		`{"a":1.5}`: "a is a number, not an object", `{"a":"x"}`: "a is a string, not an object",
	} {
		var content map[string]any
		if err := json.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		if _, err := relation.MustPath("a.b").Set(content, "v"); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	if got := relation.Wrong("spec.a", "it is %s", relation.TypeOf(int64(1))).Error(); got != "spec.a: it is a number" {
		t.Errorf("the field error is %q", got)
	}
}

// TestBudgetOnTheWay: the objects and lists that Set copies on the way to the field cost as well.
func TestBudgetOnTheWay(t *testing.T) {
	wide := map[string]any{}
	for i := range 10 {
		wide[fmt.Sprint(i)] = true
	}
	long := make([]any, 10)
	for name, content := range map[string]map[string]any{
		"object": {"a": wide}, "list": {"a": long}, "inner object": {"a": []any{wide}},
	} {
		path := relation.MustPath(map[string]string{"object": "a.x", "list": "a[3]", "inner object": "a[0].x"}[name])
		if _, err := path.SetWithin(content, true, relation.NewBudget(10)); err == nil ||
			!strings.Contains(err.Error(), "more than 10 elements and bytes") {
			t.Errorf("%s: error %v within a budget of 10", name, err)
		}
		if _, err := path.SetWithin(content, true, relation.NewBudget(30)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
