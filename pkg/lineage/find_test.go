package lineage_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/lineage"
)

// TestFind names objects in every way a person may.
func TestFind(t *testing.T) {
	ns := testenv.Namespace(t)
	testenv.Apply(t, `
apiVersion: test.kinship.dev/v1
kind: Tie
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: core}
---
apiVersion: test.kinship.dev/v1
kind: ConfigMap
metadata: {name: custom}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: both}
---
apiVersion: test.kinship.dev/v1
kind: ConfigMap
metadata: {name: both}
`, testenv.In(ns))
	cases := map[string]struct{ kind, name, want string }{
		"plural":                {"ties", "a", "Tie.test.kinship.dev/a"},
		"singular":              {"tie", "a", "Tie.test.kinship.dev/a"},
		"kind":                  {"Tie", "a", "Tie.test.kinship.dev/a"},
		"short":                 {"ti", "a", "Tie.test.kinship.dev/a"},
		"group":                 {"ties.test.kinship.dev", "a", "Tie.test.kinship.dev/a"},
		"version and group":     {"tie.v1.test.kinship.dev", "a", "Tie.test.kinship.dev/a"},
		"wrong version":         {"tie.v2.test.kinship.dev", "a", `serves no kind "tie.v2.test.kinship.dev"`},
		"in the core group":     {"configmap", "core", "ConfigMap/core"},
		"in another group":      {"configmap", "custom", "ConfigMap.test.kinship.dev/custom"},
		"in both":               {"configmap", "both", "is ambiguous"},
		"in both, with a group": {"configmap.test.kinship.dev", "both", "ConfigMap.test.kinship.dev/both"},
		"in none":               {"configmap", "none", "ConfigMap/none in namespace " + ns + " does not exist"},
		"cluster-scoped":        {"ns", ns, "Namespace/" + ns},
		"no such kind":          {"unicorns", "a", `serves no kind "unicorns"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n, err := look(t, testenv.Config(t)).Find(t.Context(), tc.kind, tc.name, ns)
			got := fmt.Sprint(err)
			if err == nil {
				got = n.ID.String()
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("Find(%s, %s): %s; want %s", tc.kind, tc.name, got, tc.want)
			}
		})
	}
}

func TestSplitName(t *testing.T) {
	for _, good := range [][]string{{"cm/a"}, {"cm", "a"}} {
		kind, name, err := lineage.SplitName(good)
		if kind != "cm" || name != "a" || err != nil {
			t.Errorf("SplitName(%q) = %q, %q, %v", good, kind, name, err)
		}
	}
	for _, bad := range [][]string{
		nil, {""}, {"cm"}, {"cm/"}, {"/a"}, {"cm/a/b"}, {"cm/a", "b"}, {"cm", "a/b"}, {"a", "b", "c"},
	} {
		if _, _, err := lineage.SplitName(bad); !errors.Is(err, lineage.ErrName) {
			t.Errorf("SplitName(%q) gives %v", bad, err)
		}
	}
}
