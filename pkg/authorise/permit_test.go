package authorise

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// served are kinds of the cluster, by Kind.
type served map[string]watch.Mapping

func (s served) Mapping(gvk schema.GroupVersionKind) (watch.Mapping, error) {
	m, ok := s[gvk.Kind]
	if !ok {
		return m, &watch.KindError{Kind: gvk}
	}
	return m, nil
}

// TestPermit checks authors before a reconciler acts for them.
func TestPermit(t *testing.T) {
	grantRoles(t)
	kind := func(kind string) schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: kind} }
	resource := func(name string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: name}
	}
	whole := Permit{
		Reviewer: reviewer(t, clock.RealClock{}), Recorded: true, Reason: "Refused", Unrecorded: "no author is on record",
		Kinds: served{
			"ConfigMap": {Resource: resource("configmaps"), Kind: "ConfigMap", Namespaced: true},
			"Namespace": {Resource: resource("namespaces"), Kind: "Namespace"},
		},
	}
	trusting, unrecorded := whole, whole
	trusting.Trust, unrecorded.Recorded = true, false
	may, mayNot := Author{Username: "by-kind"}, Author{Username: "nobody"}
	for name, c := range map[string]struct {
		permit  Permit
		authors []Author
		kinds   []string
		state   reconcile.State
		message string
	}{
		"a right":               {whole, []Author{may}, []string{"ConfigMap"}, reconcile.Done, ""},
		"one author lacks it":   {whole, []Author{may, mayNot}, []string{"ConfigMap"}, reconcile.Waiting, "the author nobody may not delete configmaps in namespace here"},
		"no author":             {whole, nil, []string{"ConfigMap"}, reconcile.Invalid, "no author is on record"},
		"no kind":               {whole, nil, nil, reconcile.Done, ""},
		"no webhook":            {unrecorded, []Author{may}, []string{"ConfigMap"}, reconcile.Invalid, "no author is on record"},
		"trust":                 {trusting, nil, []string{"ConfigMap"}, reconcile.Done, ""},
		"cluster-scoped":        {whole, []Author{may}, []string{"Namespace"}, reconcile.Invalid, "Namespace is cluster-scoped"},
		"trust, cluster-scoped": {trusting, nil, []string{"Namespace"}, reconcile.Invalid, "Namespace is cluster-scoped"},
		"an unknown kind":       {trusting, nil, []string{"Toy"}, reconcile.Waiting, "no kind Toy in this cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			kinds := make([]schema.GroupVersionKind, 0, len(c.kinds))
			for _, k := range c.kinds {
				kinds = append(kinds, kind(k))
			}
			got := c.permit.Check(t.Context(), c.authors, "here", "delete", kinds...)
			if got.Worst().State != c.state || !strings.Contains(got.Message(), c.message) {
				t.Errorf("outcome %v %q, want %v %q", got.Worst().State, got.Message(), c.state, c.message)
			}
		})
	}
}
