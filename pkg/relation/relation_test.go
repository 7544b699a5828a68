package relation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestMayTarget: Target limits a relation to one kind, Targets limit a relation without Target to some, and a
// relation with neither may lead anywhere.
func TestMayTarget(t *testing.T) {
	secret, other := schema.GroupKind{Kind: "Secret"}, schema.GroupKind{Group: "x", Kind: "Secret"}
	for name, c := range map[string]struct {
		relation      relation.Relation
		secret, other bool
	}{
		"any kind":           {relation.Relation{}, true, true},
		"one kind":           {relation.Relation{Target: secret}, true, false},
		"some kinds":         {relation.Relation{Targets: []schema.GroupKind{other, configMap}}, false, true},
		"Target before some": {relation.Relation{Target: secret, Targets: []schema.GroupKind{other}}, true, false},
	} {
		if got := c.relation.MayTarget(secret); got != c.secret {
			t.Errorf("%s: a Secret may be the target: %t", name, got)
		}
		if got := c.relation.MayTarget(other); got != c.other {
			t.Errorf("%s: a Secret of group x may be the target: %t", name, got)
		}
	}
}

// TestRow: a row has a cell below each header.
func TestRow(t *testing.T) {
	r := relation.Relation{
		Name: "port-network", Role: relation.Dependency, Doc: "a Port needs its Network",
		Declarer: schema.GroupKind{Group: "x", Kind: "Port"},
	}
	want := []string{"port-network", "Dependency", "Port.x", "a Port needs its Network"}
	if diff := cmp.Diff(want, r.Row()); diff != "" || len(r.Row()) != len(relation.RowHeader) {
		t.Errorf("%d headers, row (-want +got):\n%s", len(relation.RowHeader), diff)
	}
}
