package lineage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/lineage"
)

// TestUserIsReplaced shows that a user is the very object that was meant.
func TestUserIsReplaced(t *testing.T) {
	ns := testenv.Namespace(t)
	configMap(t, ns, "used")
	using := configMap(t, ns, "using")
	for _, uid := range []types.UID{using.GetUID(), "another"} {
		tie := testenv.Apply(t, fmt.Sprintf(`
apiVersion: test.kinship.dev/v1
kind: Tie
metadata: {name: t}
spec: {of: used, by: using, uid: %s}
`, uid), testenv.In(ns))[0]
		enforce(t, tie)
		cluster := look(t, testenv.Config(t))
		e, err := cluster.Explain(t.Context(), find(t, cluster, "cm", "used", ns))
		if err != nil {
			t.Fatal(err)
		}
		gone := strings.Contains(e.Findings[0].Text, "gone")
		if gone != (uid == "another") {
			t.Errorf("uid %s: %s", uid, e.Findings[0].Text)
		}
	}
}

// enforce reports a Tie to be in force.
func enforce(t *testing.T, tie *unstructured.Unstructured) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"Effective","status":"True"}]}}`))
	if err := testenv.Client(t, nil).Status().Patch(t.Context(), tie, patch); err != nil {
		t.Fatal(err)
	}
}

// TestExplainEndsInCircles follows two objects which use each other and are both
// being deleted.
func TestExplainEndsInCircles(t *testing.T) {
	ns := testenv.Namespace(t)
	c := testenv.Client(t, nil)
	for _, pair := range [][2]string{{"a", "b"}, {"b", "a"}} {
		objects := held(t, ns, fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s, finalizers: [example.com/hold]}
---
apiVersion: test.kinship.dev/v1
kind: Tie
metadata: {name: of-%[1]s}
spec: {of: %[1]s, by: %[2]s}
`, pair[0], pair[1]))
		enforce(t, objects[1])
	}
	for _, name := range []string{"a", "b"} {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
		if err := c.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	cluster := look(t, testenv.Config(t), func(o *lineage.Options) {
		o.Finalizers = []lineage.Finalizer{{
			Name: "example.com/hold", By: "the test", When: "it ends", Waits: lineage.WaitsForPods,
		}}
	})
	e, err := cluster.Explain(t.Context(), find(t, cluster, "cm", "a", ns))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	var walk func([]*lineage.Finding, string)
	walk = func(findings []*lineage.Finding, indent string) {
		for _, f := range findings {
			texts = append(texts, indent+f.Text)
			walk(f.Because, indent+"  ")
		}
	}
	walk(e.Findings, "")
	want := []string{
		"finalizer example.com/hold: the test takes it off when it ends",
		"its deletion is refused: ConfigMap/b in namespace NS uses it (Tie.test.kinship.dev/of-a in namespace NS), " +
			"and is being deleted",
		"  finalizer example.com/hold: the test takes it off when it ends",
	}
	for i := range texts {
		texts[i] = strings.ReplaceAll(texts[i], ns, "NS")
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
	if want := "wait for the test; if this lasts, see that it runs"; e.Next != want {
		t.Errorf("next is %q, want %q", e.Next, want)
	}
}
