package relation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
