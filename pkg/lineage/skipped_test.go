package lineage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestSkippedFor: an API group whose server does not answer is told only where the answer could have needed the group.
func TestSkippedFor(t *testing.T) {
	silent := func(group string) Skipped { return Skipped{Group: group, Resource: "*", Reason: "no answer"} }
	metrics, ours := silent("metrics.k8s.io"), silent("ours.example")
	secrets := Skipped{Resource: "secrets", Reason: "forbidden"}
	ownedBy := func(version string) Node {
		return Node{Owners: []metav1.OwnerReference{{APIVersion: version, Kind: "X"}}}
	}
	c := &Cluster{skipped: []Skipped{metrics, ours, secrets}, rules: rules{{Relation: relation.Relation{
		Name: "refers", Declarer: schema.GroupKind{Group: "ours.example", Kind: "Thing"},
	}}}}
	now := time.Now()
	for reason, tc := range map[string]struct {
		node Node
		want []Skipped
	}{
		"objects of one group may refer to it": {
			Node{ID: object.ID{Group: "apps", Kind: "Deployment"}}, []Skipped{secrets, ours},
		},
		"an object of the group":       {Node{ID: object.ID{Group: "metrics.k8s.io", Kind: "PodMetrics"}}, nil},
		"a namespace holds any kind":   {Node{ID: object.ID{Kind: "Namespace"}}, nil},
		"a deletion may wait for any":  {Node{ID: object.ID{Kind: "ConfigMap"}, Deleted: &now}, nil},
		"an owner is of the group":     {ownedBy("metrics.k8s.io/v1"), nil},
		"an owner is of another group": {ownedBy("v1"), []Skipped{secrets, ours}},
	} {
		if tc.want == nil {
			tc.want = []Skipped{secrets, metrics, ours}
		}
		if diff := cmp.Diff(tc.want, c.skippedFor(&tc.node)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
}
