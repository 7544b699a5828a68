package object_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/object"
)

func TestKeyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := object.ID{
			Group:     rapid.StringMatching(`([a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\.[a-z]{1,6}){0,3})?`).Draw(t, "group"),
			Kind:      rapid.StringMatching(`[A-Z][A-Za-z0-9]{0,20}`).Draw(t, "kind"),
			Namespace: rapid.StringMatching(`([a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?)?`).Draw(t, "namespace"),
			Name:      rapid.StringMatching(`[A-Za-z0-9:._ -]{3,40}`).Draw(t, "name"),
		}
		got, err := object.Parse(id.Key())
		if err != nil {
			t.Fatalf("Parse(%q): %v", id.Key(), err)
		}
		if got != id {
			t.Fatalf("Parse(%q) = %#v, want %#v", id.Key(), got, id)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]struct {
		key  string
		want []string
	}{
		"empty":                 {"", []string{"two slashes"}},
		"human form":            {"ConfigMap/b", []string{"kind.group/namespace/name", "got 1"}},
		"slash in the name":     {"ConfigMap/n/a/b", []string{"got 3"}},
		"no kind":               {".apps/n/b", []string{"the kind is empty"}},
		"no name":               {"ConfigMap/n/", []string{"the name is empty"}},
		"dot without group":     {"ConfigMap./n/b", []string{"leave the dot out for the core group"}},
		"group in upper case":   {"Deployment.Apps/n/b", []string{`group "Apps" is not valid`}},
		"namespace with a dot":  {"ConfigMap/n.m/b", []string{`namespace "n.m" is not valid`}},
		"name is a parent path": {"ConfigMap/n/..", []string{`name ".." is not valid`}},
		"percent in the name":   {"ConfigMap/n/a%2fb", []string{`may not contain '%'`}},
		"line break":            {"ConfigMap/n/a\nb", []string{"printable text only"}},
		"not UTF-8":             {"ConfigMap/n/a\xff", []string{"printable text only"}},
		"kind with a space":     {"Config Map/n/b", []string{`kind "Config Map" is not valid`}},
		"kelvin sign as K":      {"\u212aind/n/b", []string{"a kind is a letter followed by letters"}},
		"every fault at once":   {"9/N/..", []string{`kind "9"`, `namespace "N"`, `name ".."`}},
		"too long":              {"ConfigMap/n/" + strings.Repeat("a", object.MaxKeyLength), []string{"1036 bytes"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			id, err := object.Parse(tc.key)
			if err == nil {
				t.Fatalf("Parse(%q) = %v, want an error", tc.key, id)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Parse(%q) says %q, which does not mention %q", tc.key, err, want)
				}
			}
			if len(err.Error()) > 4*object.MaxKeyLength {
				t.Errorf("the error text has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestValidateBoundsTheWhole(t *testing.T) {
	id := object.ID{Kind: "ClusterRole", Name: strings.Repeat("a", object.MaxKeyLength)}
	if err := id.Validate(); err == nil {
		t.Error("an ID whose key Parse would refuse passes Validate")
	}
}

// FuzzParse: every key that Parse accepts is valid and equals the text that Key writes.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"ConfigMap/n/b", "Cluster.eks.upbound.io//my-cluster", "ClusterRole.rbac.authorization.k8s.io//system:node",
		"", "//", "a.b", "Deployment./n/x", "A/B/C", "Kind.g/n/\x00", "é/n/x", "K//é",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		id, err := object.Parse(key)
		if err != nil {
			if !id.IsZero() {
				t.Fatalf("Parse(%q) fails and still returns %#v", key, id)
			}
			return
		}
		if id.Key() != key {
			t.Fatalf("Parse(%q).Key() = %q", key, id.Key())
		}
		if err := id.Validate(); err != nil {
			t.Fatalf("Parse(%q) returns an invalid ID: %v", key, err)
		}
	})
}

// TestValidateBounds: each part of an ID is accepted up to its length, and refused beyond. A part that is
// refused is named.
func TestValidateBounds(t *testing.T) {
	of := func(kind, group, namespace, name int) object.ID {
		return object.ID{
			Kind: strings.Repeat("k", kind), Group: strings.Repeat("g", group),
			Namespace: strings.Repeat("n", namespace), Name: strings.Repeat("a", name),
		}
	}
	group := of(1, 0, 0, 1)
	group.Group = strings.Repeat(strings.Repeat("g", 62)+".", 4) + "g" // 253 bytes
	longer := group
	longer.Group += "g"
	for name, c := range map[string]struct {
		id    object.ID
		wrong []string
	}{
		"shortest":              {of(1, 0, 0, 1), nil},
		"longest kind":          {of(63, 0, 0, 1), nil},
		"kind too long":         {of(64, 0, 0, 1), []string{"kind"}},
		"longest namespace":     {of(1, 0, 63, 1), nil},
		"namespace too long":    {of(1, 0, 64, 1), []string{"namespace"}},
		"longest group":         {group, nil},
		"group too long":        {longer, []string{"group"}},
		"longest key":           {of(1, 0, 0, object.MaxKeyLength-3), nil},
		"key too long":          {of(1, 0, 0, object.MaxKeyLength-2), []string{"the key has 1025 bytes"}},
		"all too long":          {of(64, 254, 64, object.MaxKeyLength), []string{"kind", "group", "namespace", "the key"}},
		"nothing":               {object.ID{}, []string{"the kind is empty", "the name is empty"}},
		"a dash at the end":     {object.ID{Kind: "K-", Name: "a"}, []string{`kind "K-" is not valid`}},
		"a dash within":         {object.ID{Kind: "K-8", Name: "a"}, nil},
		"a digit first":         {object.ID{Kind: "8K", Name: "a"}, []string{`kind "8K" is not valid`}},
		"a name with a slash":   {object.ID{Kind: "K", Name: "a/b"}, []string{`name "a/b" is not valid`}},
		"a name with a newline": {object.ID{Kind: "K", Name: "a\n"}, []string{"printable text only"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.id.Validate()
			if (err != nil) != (c.wrong != nil) {
				t.Fatalf("Validate returns %v, want %q", err, c.wrong)
			}
			for _, part := range c.wrong {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not mention %q", err, part)
				}
			}
			if _, parsed := object.Parse(c.id.Key()); (parsed == nil) != (err == nil) {
				t.Errorf("Validate returns %v, and Parse returns %v", err, parsed)
			}
		})
	}
}
