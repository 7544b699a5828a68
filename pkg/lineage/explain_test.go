package lineage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/lineage"
)

// TestUserIsReplaced shows that a user is the very object that was meant.
func TestUserIsReplaced(t *testing.T) {
	ns := testenv.Namespace(t)
	refuseDeletion(t, ns, configMap(t, ns, "used"))
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

// refuseDeletion makes the API server refuse the deletion of ConfigMaps in a namespace, and
// waits until a trial deletion is refused.
func refuseDeletion(t *testing.T, ns string, one client.Object) {
	t.Helper()
	c := testenv.Client(t, nil)
	for _, obj := range testenv.Apply(t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules: [{apiGroups: [""], apiVersions: ["*"], resources: [configmaps], operations: [DELETE]}]
  validations: [{expression: "false"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, ns)) {
		t.Cleanup(func() {
			if err := c.Delete(context.WithoutCancel(t.Context()), obj); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		})
	}
	testenv.Eventually(t, func() error {
		if c.Delete(t.Context(), one, client.DryRunAll) == nil {
			return errors.New("the deletion is allowed")
		}
		return nil
	})
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

// TestExplainEndsInCircles follows two objects which own each other, wait for each
// other, and are both being deleted.
func TestExplainEndsInCircles(t *testing.T) {
	ns := testenv.Namespace(t)
	c := testenv.Client(t, nil)
	a := configMap(t, ns, "a")
	b := configMap(t, ns, "b", a)
	for _, pair := range [][2]*unstructured.Unstructured{{a, b}, {b, a}} {
		held(t, ns, fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: %s
  finalizers: [example.com/hold]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: %s, uid: %s}]
`, pair[0].GetName(), pair[1].GetName(), pair[1].GetUID()))
	}
	for _, obj := range []*unstructured.Unstructured{a, b} {
		if err := c.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	cluster := look(t, testenv.Config(t), func(o *lineage.Options) {
		o.Finalizers = []lineage.Finalizer{{
			Name: "example.com/hold", By: "the test", When: "it ends", Waits: lineage.WaitsForOwned,
		}}
	})
	e, err := cluster.Explain(t.Context(), find(t, cluster, "cm", "a", ns))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"finalizer example.com/hold: the test removes it when it ends",
		"  ConfigMap/b in namespace NS is being deleted too",
		"    finalizer example.com/hold: the test removes it when it ends",
		"      ConfigMap/a in namespace NS is being deleted too",
	}
	got := strings.Split(strings.ReplaceAll(strings.Join(each(e.Findings, ""), "\n"), ns, "NS"), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
	if want := "wait for the test; if this takes long, check that it runs"; e.Next != want {
		t.Errorf("next is %q, want %q", e.Next, want)
	}
}

func each(findings []*lineage.Finding, indent string) []string {
	var all []string
	for _, f := range findings {
		all = append(append(all, indent+f.Text), each(f.Because, indent+"  ")...)
	}
	return all
}
