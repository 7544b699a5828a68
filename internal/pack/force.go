package pack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Force returns a digest of the fields of a guard that decide which requests are judged and
// what comes of the judgement. Two guards with the same digest are equally strong. Fields
// that a guard leaves out count as the API server's defaults.
//
// The template is the guard as the pack declares it. Left out are: how a webhook is reached,
// with the certificates to trust, since the API server asks nobody else than a server with
// the operator's certificate; the rules of a webhook whose template has none, since the pack
// keeps them; webhooks of others in the same object.
func Force(guard, template client.Object) string {
	guard = guard.DeepCopyObject().(client.Object)
	complete(guard)
	var decides any
	switch g := guard.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		decides = g.Spec
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		decides = g.Spec
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		decides = g.Spec
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		decides = g.Spec
	default:
		decides = webhookForce(guard, template)
	}
	text, err := json.Marshal(decides)
	if err != nil { // No field of these types fails to marshal.
		panic(fmt.Errorf("digest guard %s: %w", guard.GetName(), err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Altered reports whether a guard is weaker or stronger than the template.
func Altered(guard, template client.Object) bool {
	return Force(guard, template) != Force(template, template)
}

// Rectify makes a guard as strong as its template. Fields that Force leaves out stay.
func Rectify(guard, template client.Object) {
	template = template.DeepCopyObject().(client.Object)
	complete(template)
	switch g := guard.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		g.Spec = template.(*admissionregistrationv1.ValidatingAdmissionPolicy).Spec
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		g.Spec = template.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding).Spec
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		g.Spec = template.(*admissionregistrationv1.MutatingAdmissionPolicy).Spec
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		g.Spec = template.(*admissionregistrationv1.MutatingAdmissionPolicyBinding).Spec
	default:
		appendMissing(guard, template)
		want := hooksOf(template)
		for name, have := range hooksOf(guard) {
			if w, ours := want[name]; ours {
				have.copyFrom(w)
			}
		}
	}
}

// hook has pointers to the fields of a webhook that decide which requests the webhook judges.
type hook struct {
	rules               *[]admissionregistrationv1.RuleWithOperations
	failure             **admissionregistrationv1.FailurePolicyType
	match               **admissionregistrationv1.MatchPolicyType
	namespaces, objects **metav1.LabelSelector
	conditions          *[]admissionregistrationv1.MatchCondition
	again               **admissionregistrationv1.ReinvocationPolicyType // nil of a validating webhook
}

// hooksOf returns the webhooks of a configuration by their names.
func hooksOf(configuration client.Object) map[string]hook {
	hooks := map[string]hook{}
	switch c := configuration.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			hooks[w.Name] = hook{
				rules: &w.Rules, failure: &w.FailurePolicy, match: &w.MatchPolicy, namespaces: &w.NamespaceSelector,
				objects: &w.ObjectSelector, conditions: &w.MatchConditions,
			}
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			hooks[w.Name] = hook{
				rules: &w.Rules, failure: &w.FailurePolicy, match: &w.MatchPolicy, namespaces: &w.NamespaceSelector,
				objects: &w.ObjectSelector, conditions: &w.MatchConditions, again: &w.ReinvocationPolicy,
			}
		}
	}
	return hooks
}

// kept reports whether the pack keeps the rules of a webhook, which its template leaves out.
func (h hook) kept() bool { return len(*h.rules) == 0 }

// copyFrom copies the deciding fields of the template's webhook.
func (h hook) copyFrom(want hook) {
	*h.failure, *h.match, *h.objects, *h.conditions = *want.failure, *want.match, *want.objects, *want.conditions
	if h.again != nil {
		*h.again = *want.again
	}
	if *want.namespaces != nil {
		*h.namespaces = *want.namespaces
	}
	if !want.kept() {
		*h.rules = *want.rules
	}
}

// webhookForce returns the deciding fields of the webhooks that the template has.
func webhookForce(configuration, template client.Object) any {
	type force struct {
		Rules               []admissionregistrationv1.RuleWithOperations
		Failure             *admissionregistrationv1.FailurePolicyType
		Match               *admissionregistrationv1.MatchPolicyType
		Namespaces, Objects *metav1.LabelSelector
		Conditions          []admissionregistrationv1.MatchCondition        `json:",omitempty"`
		Again               *admissionregistrationv1.ReinvocationPolicyType `json:",omitempty"`
	}
	all := map[string]force{} // Marshalled in order.
	want := hooksOf(template)
	for name, h := range hooksOf(configuration) {
		w, ours := want[name]
		if !ours {
			continue
		}
		f := force{
			Rules: *h.rules, Failure: *h.failure, Match: *h.match, Namespaces: *h.namespaces, Objects: *h.objects,
			Conditions: *h.conditions,
		}
		if h.again != nil {
			f.Again = *h.again
		}
		if w.kept() {
			f.Rules = nil
			if *w.namespaces == nil {
				f.Namespaces = nil
			}
		}
		all[name] = f
	}
	return all
}

// appendMissing adds the webhooks of the template that a configuration has not.
func appendMissing(configuration, template client.Object) {
	have := hooksOf(configuration)
	switch c := configuration.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for _, w := range template.(*admissionregistrationv1.ValidatingWebhookConfiguration).Webhooks {
			if _, there := have[w.Name]; !there {
				c.Webhooks = append(c.Webhooks, w)
			}
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for _, w := range template.(*admissionregistrationv1.MutatingWebhookConfiguration).Webhooks {
			if _, there := have[w.Name]; !there {
				c.Webhooks = append(c.Webhooks, w)
			}
		}
	}
}

// complete sets the API server's defaults.
func complete(guard client.Object) {
	switch g := guard.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		setDefault(&g.Spec.FailurePolicy, admissionregistrationv1.Fail)
		completeMatch(g.Spec.MatchConstraints)
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		completeMatch(g.Spec.MatchResources)
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		setDefault(&g.Spec.FailurePolicy, admissionregistrationv1.Fail)
		if g.Spec.ReinvocationPolicy == "" {
			g.Spec.ReinvocationPolicy = admissionregistrationv1.NeverReinvocationPolicy
		}
		completeMatch(g.Spec.MatchConstraints)
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		completeMatch(g.Spec.MatchResources)
	default:
		for _, h := range hooksOf(guard) {
			h.complete()
		}
	}
}

func (h hook) complete() {
	setDefault(h.failure, admissionregistrationv1.Fail)
	setDefault(h.match, admissionregistrationv1.Equivalent)
	setDefault(h.objects, metav1.LabelSelector{})
	if h.again != nil {
		setDefault(h.again, admissionregistrationv1.NeverReinvocationPolicy)
	}
	if !h.kept() { // Else the pack sets the namespaceSelector too, if the template leaves it out.
		setDefault(h.namespaces, metav1.LabelSelector{})
	}
	for i := range *h.rules {
		setDefault(&(*h.rules)[i].Scope, admissionregistrationv1.AllScopes)
	}
}

func completeMatch(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	setDefault(&m.MatchPolicy, admissionregistrationv1.Equivalent)
	setDefault(&m.NamespaceSelector, metav1.LabelSelector{})
	setDefault(&m.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			setDefault(&rules[i].Scope, admissionregistrationv1.AllScopes)
		}
	}
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
