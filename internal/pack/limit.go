package pack

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Limit has webhooks and policies ask about objects in some namespaces alone, and about
// objects without a namespace.
func (in Installation) Limit(objects []client.Object) []client.Object {
	if len(in.Namespaces) == 0 {
		return objects
	}
	for _, obj := range objects {
		limit(obj, in.Namespaces)
	}
	return objects
}

func limit(obj client.Object, namespaces []string) {
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: slices.Clone(namespaces),
	}}}
	match := func(resources *admissionregistrationv1.MatchResources) {
		if resources != nil {
			resources.NamespaceSelector = selector
		}
	}
	switch o := obj.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range o.Webhooks {
			// A controller sets the namespaceSelector of a webhook without rules.
			if w := &o.Webhooks[i]; len(w.Rules) > 0 || w.NamespaceSelector != nil {
				w.NamespaceSelector = selector
			}
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range o.Webhooks {
			o.Webhooks[i].NamespaceSelector = selector
		}
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		match(o.Spec.MatchConstraints)
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		match(o.Spec.MatchConstraints)
	}
}
