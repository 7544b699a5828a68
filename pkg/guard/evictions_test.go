package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestRulesOfEvictions: the webhook for evictions is identified by its name, at any position
// among other webhooks.
func TestRulesOfEvictions(t *testing.T) {
	t.Parallel()
	k := keepRules(t, "evictions")
	k.Evictions = foreign
	k.start(t)
	pod := func(namespace, name string) relation.Edge {
		pod := object.ID{Kind: "Pod", Namespace: namespace, Name: name}
		return relation.Edge{Declarer: holder, Target: relation.Named(pod)}
	}
	everywhere := relation.Edge{Declarer: holder, Target: relation.Ref{
		ID: object.ID{Kind: "Pod"}, Selector: &relation.Selector{Labels: map[string]string{"app": "web"}},
	}}
	all := admissionregistrationv1.AllScopes
	creation := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"pods/eviction"}, Scope: &all,
		},
	}}
	in := func(namespaces ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: namespaces,
		}}}
	}
	steps := []struct {
		reason   string
		held     []relation.Edge
		rules    []admissionregistrationv1.RuleWithOperations
		selector *metav1.LabelSelector
	}{
		{
			"each namespace with a held Pod, once",
			[]relation.Edge{pod("b", "p"), pod("a", "p"), pod("b", "q")},
			creation, in("a", "b"),
		},
		{"another namespace", []relation.Edge{pod("c", "p")}, creation, in("c")},
		{"a set of Pods may be anywhere", []relation.Edge{pod("c", "p"), everywhere}, creation, &metav1.LabelSelector{}},
		{"no Pod is held: nobody's evictions depend on us", nil, nil, &metav1.LabelSelector{}},
	}
	for _, s := range steps {
		k.Held.Set(holder, s.held)
		k.Changed()
		testenv.Eventually(t, func() error {
			w := k.read(t).Webhooks[0]
			if diff := cmp.Diff(s.rules, w.Rules, cmpopts.EquateEmpty()); diff != "" {
				return fmt.Errorf("%s: rules (-want +got):\n%s", s.reason, diff)
			}
			if diff := cmp.Diff(s.selector, w.NamespaceSelector); diff != "" {
				return fmt.Errorf("%s: namespaces (-want +got):\n%s", s.reason, diff)
			}
			return nil
		})
	}
}

// TestConfirmEvictions: a Pod is not confirmed before the API server calls the webhook for
// evictions in the Pod's own namespace, whatever the state of other namespaces.
func TestConfirmEvictions(t *testing.T) {
	t.Parallel()
	k := keepRules(t, "evicting")
	k.Evictions = foreign
	c := k.read(t)
	c.Webhooks[0].ObjectSelector, c.Webhooks[0].Rules = nil, nil
	if err := k.client.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	first, second := k.pod(t, k.obj.ID.Namespace, "evicting"), k.pod(t, testenv.Namespace(t), "evicting")
	held := make([]relation.Edge, 0, 2)
	for _, pod := range []*corev1.Pod{first, second} {
		k.obj = relation.ObjectOf(podKind, pod)
		held = append(held, relation.Edge{Declarer: holder, Target: relation.Named(k.obj.ID)})
		k.Held.Set(holder, held)
		k.confirm(t)
		if !k.Confirmed(k.obj) {
			t.Error("Confirmed does not know what Confirm found out")
		}
		if err := k.evict(t, pod); err == nil || !strings.Contains(err.Error(), foreign) {
			t.Errorf("confirmed, and the eviction from %s was answered with %v", pod.Namespace, err)
		}
	}

	lost := 0
	k.Lost = func() { lost++ }
	c = k.read(t)
	c.Webhooks[0].NamespaceSelector.MatchExpressions[0].Values = []string{first.Namespace}
	if err := k.client.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	id := object.ID{Group: guard.ConfigurationKind.Group, Kind: guard.ConfigurationKind.Kind, Name: k.name}
	k.ObjectChanged(relation.Change{New: &relation.Object{ID: id}})
	k.obj.ID.Name = "not tried before" // Looks at the configuration.
	k.obj.ID.Namespace = testenv.Namespace(t)
	k.Confirm(t.Context(), k.obj)
	if k.Confirmed(relation.ObjectOf(podKind, second)) || lost == 0 {
		t.Errorf("still confirmed though nobody asks; told %d times", lost)
	}
}

// pod makes a Pod that carries a label.
func (k *kept) pod(t *testing.T, namespace, label string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", Labels: map[string]string{label: "true"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
	testenv.Eventually(t, func() error { return k.client.Create(t.Context(), pod) })
	return pod
}

// evict evicts a Pod without effect.
func (k *kept) evict(t *testing.T, pod *corev1.Pod) error {
	t.Helper()
	return k.client.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{}, client.DryRunAll)
}
