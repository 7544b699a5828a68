package lineage_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/object"
)

// TestAbsence asks about objects that do not exist: which fields name the object, also as an owner, and which
// namespaces have an object of the name.
func TestAbsence(t *testing.T) {
	ns, other := testenv.Namespace(t), testenv.Namespace(t)
	applyTies(t, ns, tie{name: "a", spec: "needs: [gone]", says: "-"}, tie{name: "b", spec: "in: [gone]", says: "-"},
		tie{name: "c", spec: "in: [a]", says: "-"})
	applyTies(t, other, tie{name: "there", says: "-"})
	id := func(namespace, name string) object.ID {
		return object.ID{Group: "test.kinship.dev", Kind: "Tie", Namespace: namespace, Name: name}
	}
	cluster := look(t, testenv.Config(t), func(o *lineage.Options) { o.Relations = owned() })
	for reason, row := range map[string]struct {
		id   object.ID
		want lineage.Absence
		by   []string
	}{
		"two fields name it":           {id(ns, "gone"), lineage.Absence{}, []string{"Tie/a spec.needs", "Tie/b spec.in"}},
		"it is in another namespace":   {id(ns, "there"), lineage.Absence{Elsewhere: []string{other}}, nil},
		"the namespace does not exist": {id("no-such", "x"), lineage.Absence{NoNamespace: true}, nil},
		"a kind without namespaces":    {object.ID{Kind: "Namespace", Name: "no-such"}, lineage.Absence{}, nil},
	} {
		got, err := cluster.Absence(t.Context(), row.id)
		if err != nil {
			t.Fatal(err)
		}
		by := make([]string, 0, len(got.NamedBy))
		for _, e := range got.NamedBy {
			by = append(by, e.Declarer.Short()+" "+e.Field)
		}
		slices.Sort(by)
		if diff := cmp.Diff(row.by, by, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: named by (-want +got):\n%s", reason, diff)
		}
		if got.NoNamespace != row.want.NoNamespace || !slices.Equal(got.Elsewhere, row.want.Elsewhere) {
			t.Errorf("%s: got %+v, want %+v", reason, got, row.want)
		}
	}
}
