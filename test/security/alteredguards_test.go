package security_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// nowhere selects nothing that a test has.
func nowhere() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"nowhere": "true"}}
}

// alteration takes the force of a guard in one way. It reports whether the guard has what is
// altered.
type alteration struct {
	name  string
	alter func(guard client.Object) bool
}

// webhooks runs a function for each webhook of a configuration, by its fields.
func webhooks(
	guard client.Object, each func(
		rules *[]admissionregistrationv1.RuleWithOperations, failure **admissionregistrationv1.FailurePolicyType,
		namespaces, objects **metav1.LabelSelector, conditions *[]admissionregistrationv1.MatchCondition,
	),
) bool {
	switch c := guard.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			each(&w.Rules, &w.FailurePolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.MatchConditions)
		}
		return true
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			each(&w.Rules, &w.FailurePolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.MatchConditions)
		}
		return true
	default:
		return false
	}
}

// matched returns what a policy matches, with its conditions and what it does on failure.
func matched(guard client.Object) (
	*admissionregistrationv1.MatchResources, *[]admissionregistrationv1.MatchCondition,
	**admissionregistrationv1.FailurePolicyType,
) {
	switch p := guard.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return p.Spec.MatchConstraints, &p.Spec.MatchConditions, &p.Spec.FailurePolicy
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		return p.Spec.MatchConstraints, &p.Spec.MatchConditions, &p.Spec.FailurePolicy
	default:
		return nil, nil, nil
	}
}

// narrow has a guard judge in no namespace, and widen in all.
var (
	narrow = namespaces("namespaceSelector", nowhere())
	widen  = namespaces("", &metav1.LabelSelector{})
)

func namespaces(name string, selector *metav1.LabelSelector) alteration {
	return alteration{name, func(g client.Object) bool {
		if m, _, _ := matched(g); m != nil {
			m.NamespaceSelector = selector
			return true
		}
		return webhooks(g, func(
			_ *[]admissionregistrationv1.RuleWithOperations, _ **admissionregistrationv1.FailurePolicyType,
			namespaces, _ **metav1.LabelSelector, _ *[]admissionregistrationv1.MatchCondition,
		) {
			*namespaces = selector
		})
	}}
}

// alterations are the ways to take the force of a guard without deleting it.
var alterations = []alteration{
	{"failurePolicy", func(g client.Object) bool {
		ignore := admissionregistrationv1.Ignore
		if _, _, failure := matched(g); failure != nil {
			*failure = &ignore
			return true
		}
		return webhooks(g, func(
			_ *[]admissionregistrationv1.RuleWithOperations, failure **admissionregistrationv1.FailurePolicyType,
			_, _ **metav1.LabelSelector, _ *[]admissionregistrationv1.MatchCondition,
		) {
			*failure = &ignore
		})
	}},
	narrow,
	{"objectSelector", func(g client.Object) bool {
		if m, _, _ := matched(g); m != nil {
			m.ObjectSelector = nowhere()
			return true
		}
		return webhooks(g, func(
			_ *[]admissionregistrationv1.RuleWithOperations, _ **admissionregistrationv1.FailurePolicyType,
			_, objects **metav1.LabelSelector, _ *[]admissionregistrationv1.MatchCondition,
		) {
			*objects = nowhere()
		})
	}},
	{"matchConditions", func(g client.Object) bool {
		never := admissionregistrationv1.MatchCondition{Name: "never", Expression: "false"}
		if _, conditions, _ := matched(g); conditions != nil {
			*conditions = append(*conditions, never)
			return true
		}
		return webhooks(g, func(
			_ *[]admissionregistrationv1.RuleWithOperations, _ **admissionregistrationv1.FailurePolicyType,
			_, _ **metav1.LabelSelector, conditions *[]admissionregistrationv1.MatchCondition,
		) {
			*conditions = append(*conditions, never)
		})
	}},
	{"rules", func(g client.Object) bool {
		if m, _, _ := matched(g); m != nil {
			m.ResourceRules[0].Resources = []string{"nothing"}
			return true
		}
		has := false
		webhooks(g, func(
			rules *[]admissionregistrationv1.RuleWithOperations, _ **admissionregistrationv1.FailurePolicyType,
			_, _ **metav1.LabelSelector, _ *[]admissionregistrationv1.MatchCondition,
		) {
			has = g.GetName() != "crossplane-no-usages" // Whose rules follow what is used.
			*rules = nil
		})
		return has
	}},
	{"webhooks", func(g client.Object) bool {
		switch c := g.(type) {
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			c.Webhooks = nil
			return true
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			c.Webhooks = nil
			return true
		default:
			return false
		}
	}},
	{"what it does", func(g client.Object) bool {
		switch p := g.(type) {
		case *admissionregistrationv1.ValidatingAdmissionPolicy:
			p.Spec.Validations = []admissionregistrationv1.Validation{{Expression: "true"}}
		case *admissionregistrationv1.MutatingAdmissionPolicy:
			p.Spec.Mutations[0].JSONPatch.Expression = `[JSONPatch{op: "remove", path: "/metadata/labels/none"}]`
		case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
			p.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Audit}
		case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
			p.Spec.PolicyName = "another"
		default:
			return false
		}
		return true
	}},
	{"matchResources", func(g client.Object) bool {
		narrow := &admissionregistrationv1.MatchResources{NamespaceSelector: nowhere()}
		switch b := g.(type) {
		case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
			b.Spec.MatchResources = narrow
		case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
			b.Spec.MatchResources = narrow
		default:
			return false
		}
		return true
	}},
}

// alter takes the force of a guard in one way, and reports whether the guard can be altered so.
func (a alteration) of(t *testing.T, c client.Client, guard client.Object) bool {
	t.Helper()
	applies := false
	testenv.Eventually(t, func() error {
		live := guard.DeepCopyObject().(client.Object)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(guard), live); err != nil {
			return err
		}
		if applies = a.alter(live); !applies {
			return nil
		}
		return c.Update(t.Context(), live)
	})
	return applies
}

// eachAlteration alters each guard of all packs in each way: all guards at once in one way after the
// other. eachAlteration ends with the first failure, as each does.
func (g guarded) eachAlteration(t *testing.T, test func(t *testing.T, guards []client.Object)) {
	t.Helper()
	for _, a := range alterations {
		passed := t.Run(string(g.by)+"/"+a.name, func(t *testing.T) {
			var guards []client.Object
			for _, guard := range guardsOf(t, g.c, g.by) {
				if a.of(t, g.c, guard) {
					guards = append(guards, guard)
				}
			}
			test(t, guards)
		})
		if !passed {
			t.Fatal("the other alterations are not tried")
		}
	}
}

// inForce reports whether a guard is as its template.
func inForce(t *testing.T, c client.Client, template client.Object) error {
	t.Helper()
	live := template.DeepCopyObject().(client.Object)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(template), live); err != nil {
		return err
	}
	if pack.Altered(live, template) {
		return fmt.Errorf("the operator has not restored %T %s", template, template.GetName())
	}
	return nil
}

// testGuardsAltered takes the force of each guard of each pack in each way, without deleting
// the guard. The operator restores the guard.
func testGuardsAltered(t *testing.T, g guarded) {
	t.Helper()
	g.eachAlteration(t, func(t *testing.T, guards []client.Object) {
		t.Helper()
		for _, guard := range guards {
			testenv.EventuallyWithin(t, restoring, func() error { return inForce(t, g.c, guard) })
		}
	})
}

// testGuardsWeak takes the force of each guard in each way. The operator says which guard is
// altered until somebody restores the guard.
func testGuardsWeak(t *testing.T, g guarded) {
	t.Helper()
	g.eachAlteration(t, func(t *testing.T, guards []client.Object) {
		t.Helper()
		testenv.Eventually(t, g.count(t, "altered", len(guards)))
		log := g.o.Log()
		if !strings.Contains(log, "level=WARN msg=\"Protection is off\"") {
			t.Error("the log does not warn")
		}
		for _, guard := range guards {
			if !strings.Contains(log, guard.GetName()+" altered") {
				t.Errorf("the log does not say that %s is altered", guard.GetName())
			}
			testenv.Eventually(t, func() error {
				live := guard.DeepCopyObject().(client.Object)
				if err := g.c.Get(t.Context(), client.ObjectKeyFromObject(guard), live); err != nil {
					return err
				}
				pack.Rectify(live, guard)
				return g.c.Update(t.Context(), live)
			})
		}
		testenv.Eventually(t, g.count(t, "altered", 0))
	})
}

// TestGuardsOfAnotherRelease: an operator leaves guards alone that another release has
// installed, and guards that are as they should be.
func TestGuardsOfAnotherRelease(t *testing.T) {
	operator.Start(t, func(o *options.Options) { o.Packs = []string{"iot"} })
	l := newLand(t)
	awaitJudged(t, "iot")
	theirs := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	ours := &admissionregistrationv1.MutatingWebhookConfiguration{}
	for _, guard := range []client.Object{theirs, ours} {
		guard.SetName("kinship-iot")
		if err := l.C.Get(t.Context(), client.ObjectKeyFromObject(guard), guard); err != nil {
			t.Fatal(err)
		}
	}
	template := theirs.DeepCopy()
	theirs.Webhooks[0].MatchConditions[0].Expression += " || false"
	key := "ValidatingWebhookConfiguration kinship-iot"
	record(t, "iot", func(known map[string]any) {
		known["installed"].(map[string]any)[key] = pack.Force(theirs, template)
	})
	if err := l.C.Update(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	// The operator looks at all guards of the pack when one is changed.
	narrow.of(t, l.C, ours)
	testenv.EventuallyWithin(t, restoring, func() error { return inForce(t, l.C, ours) })
	awaitJudged(t, "iot")
	now := theirs.DeepCopy()
	if err := l.C.Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil {
		t.Fatal(err)
	}
	if now.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("the guard of another release was written: %v", now.Webhooks)
	}
}

// record changes what the operator has recorded of a pack's guards.
func record(t *testing.T, pack string, change func(known map[string]any)) {
	t.Helper()
	lease, c := &coordinationv1.Lease{}, operator.Client(t)
	key := client.ObjectKey{Namespace: options.Namespace, Name: "kinship-guards-" + pack}
	testenv.Eventually(t, func() error {
		known := recorded(t, pack)
		change(known)
		text, err := json.Marshal(known)
		if err != nil {
			return err
		}
		if err := c.Get(t.Context(), key, lease); err != nil {
			return err
		}
		lease.Annotations["kinship.dev/guards"] = string(text)
		return c.Update(t.Context(), lease)
	})
}
