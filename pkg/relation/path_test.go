package relation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/pkg/relation"
)

func TestPath(t *testing.T) {
	content := map[string]any{
		"data": map[string]any{"a.b/c": "key"},
		"spec": map[string]any{
			"name": "x", "none": nil,
			"volumes": []any{
				map[string]any{"secret": map[string]any{"name": "one"}},
				map[string]any{"configMap": map[string]any{"name": "other"}},
				"text",
				map[string]any{"secret": map[string]any{"name": "two"}},
			},
			"names": []any{"p", nil, "q"},
		},
	}
	for path, want := range map[string]string{
		"spec.name":                     "spec.name=x",
		"spec.volumes[*].secret.name":   "spec.volumes[0].secret.name=one spec.volumes[3].secret.name=two",
		"spec.volumes[3].secret.name":   "spec.volumes[3].secret.name=two",
		"spec.volumes[9].secret.name":   "",
		"spec.names[*]":                 "spec.names[0]=p spec.names[2]=q",
		"data['a.b/c']":                 "data['a.b/c']=key",
		"spec.name[*]":                  "",
		"spec.volumes.secret":           "",
		"spec.none":                     "",
		"spec.absent.secret[*].name[0]": "",
	} {
		p, err := relation.ParsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		values := p.Values(content)
		got := make([]string, 0, len(values))
		for _, v := range values {
			got = append(got, v.Field+"="+v.Value.(string))
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestPathRefused reads paths that make no sense. Each error names the path.
func TestPathRefused(t *testing.T) {
	for path, want := range map[string]string{
		"":                             "a path is empty",
		"spec..name":                   `path "spec..name": ".name" does not begin with a field's name`[:20],
		"[*].name":                     "does not begin with a field's name",
		"spec.a[-1]":                   "is none of",
		"spec.a[99999]":                "element 99999 is beyond 9999",
		"spec.a[x]":                    "is none of",
		"spec.a b":                     "is none of",
		"spec.*":                       "does not begin with a field's name",
		strings.Repeat("a.", 40) + "a": "has more than 32 steps",
		strings.Repeat("a", 600):       "is longer than 512 bytes",
	} {
		_, err := relation.ParsePath(path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %q", path, err, want)
		}
	}
}

// FuzzPath reads any text as a Path. A valid Path leads through any object without a panic, and
// the Field of each Value leads to the same value.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"spec.a[*].b", "a['x.y']", "a[0][*]", "a..b", "[", "a['", "a[18446744073709551616]"} {
		f.Add(seed)
	}
	content := map[string]any{
		"spec": map[string]any{"a": []any{map[string]any{"b": "x"}, []any{"y"}}},
		"a":    []any{[]any{"z"}, map[string]any{"x.y": int64(1)}},
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := relation.ParsePath(text)
		if err != nil {
			return
		}
		for _, v := range p.Values(content) {
			again, err := relation.ParsePath(v.Field)
			if err != nil {
				t.Fatalf("%q yields the field %q: %v", text, v.Field, err)
			}
			if found := again.Values(content); len(found) != 1 || !cmp.Equal(found[0].Value, v.Value) {
				t.Fatalf("%q yields %v at %q, where there is %v", text, v.Value, v.Field, found)
			}
		}
	})
}
