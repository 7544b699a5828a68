package guard_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestRulesOfEvictions keeps the foreign webhook's place for evictions: which
// webhook it is, only its name says.
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
