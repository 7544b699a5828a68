package guard

import (
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// podKind is the kind whose objects can be evicted.
var podKind = schema.GroupKind{Kind: "Pod"}

// evictable returns the namespaces with held Pods; metav1.NamespaceAll stands for all
// namespaces.
func (r *Rules) evictable(kinds []schema.GroupKind) []string {
	if !slices.Contains(kinds, podKind) {
		return nil
	}
	var namespaces []string
	for _, pod := range r.Held.Targets(podKind) {
		namespaces = append(namespaces, pod.Namespace)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// updateEvictions sets the rule and the namespaceSelector of the webhook for evictions to the
// namespaces with held Pods. Without trim, namespaces of the current selector stay: if a Pod
// there is held again, the API server might not have followed yet. The webhook can't use an
// objectSelector for the lock's label, because the object of such a request is an Eviction and
// not the Pod.
func (r *Rules) updateEvictions(
	webhook *admissionregistrationv1.ValidatingWebhook, namespaces []string, trim bool,
) (changed bool) {
	have := evictedFrom(webhook)
	r.void(outside(have))
	for s := range r.confirmed {
		if outside(have)(s) {
			r.loseAll() // Another client removed the namespace.
			break
		}
	}
	want := namespaces
	if trim {
		r.forget(outside(want))
	} else {
		want = slices.Concat(want, have)
		slices.Sort(want)
		want = slices.Compact(want)
	}
	rules, selector := evictions(want)
	if equality.Semantic.DeepEqual(rules, webhook.Rules) &&
		equality.Semantic.DeepEqual(selector, webhook.NamespaceSelector) {
		return false
	}
	webhook.Rules, webhook.NamespaceSelector = rules, selector
	return true
}

// evictions returns the RuleWithOperations list and the namespaceSelector for CREATE of
// pods/eviction in some namespaces, in order. If the first namespace is empty, the selector
// matches every namespace.
func evictions(namespaces []string) ([]admissionregistrationv1.RuleWithOperations, *metav1.LabelSelector) {
	selector := &metav1.LabelSelector{}
	if len(namespaces) == 0 {
		return nil, selector
	}
	if namespaces[0] != "" {
		selector.MatchExpressions = []metav1.LabelSelectorRequirement{{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: namespaces,
		}}
	}
	rules := rulesFor([]schema.GroupResource{{Resource: "pods/eviction"}})
	rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
	return rules, selector
}

// evictedFrom returns the namespaces of the webhook for pods/eviction. evictedFrom returns nil
// if the rules or the namespaceSelector differ from the result of evictions: another client
// wrote them.
func evictedFrom(webhook *admissionregistrationv1.ValidatingWebhook) []string {
	namespaces := []string{""}
	if s := webhook.NamespaceSelector; s != nil && len(s.MatchExpressions) == 1 {
		namespaces = s.MatchExpressions[0].Values
	}
	rules, selector := evictions(namespaces)
	if len(namespaces) == 0 || !equality.Semantic.DeepEqual(rules, webhook.Rules) ||
		!equality.Semantic.DeepEqual(selector, webhook.NamespaceSelector) {
		return nil
	}
	return namespaces
}

// outside returns a function that reports whether a scope is for evictions from a namespace
// that is not among namespaces.
func outside(namespaces []string) func(scope) bool {
	all := len(namespaces) > 0 && namespaces[0] == ""
	return func(s scope) bool {
		return s.evictedFrom != "" && !all && !slices.Contains(namespaces, s.evictedFrom)
	}
}

// probeEviction evicts a Pod with dry run.
func (r *Rules) probeEviction(ctx context.Context, obj relation.Object) error {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: obj.ID.Namespace, Name: obj.ID.Name}}
	return r.Client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &obj.UID}},
	}, client.DryRunAll)
}
