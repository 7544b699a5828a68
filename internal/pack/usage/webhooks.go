package usage

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
)

// objects are the webhook configurations and policies of the pack.
func objects(in pack.Installation) []client.Object {
	all := slices.Concat(keepLock(in), refusing(in, in.Enforcement))
	if in.Enforcement == pack.ByPolicy {
		return slices.Concat(all, keepRecords(in), restoredObjects(in))
	}
	return append(all, validateUsages(in), defaultUsages(in))
}

// refusing are the objects that have the API server refuse the deletion of locked objects.
func refusing(in pack.Installation, by pack.Enforcement) []client.Object {
	if by == pack.ByPolicy {
		return refuseByPolicy()
	}
	return []client.Object{refuseByWebhook(in)}
}

// timeout is how long the API server waits for a webhook, in seconds.
const timeout int32 = 3

// refuseByWebhook returns the ValidatingWebhookConfiguration with which the API server calls
// deletionHandler before it deletes a locked object or evicts a Pod. guard.Rules writes the
// rules: the used kinds.
func refuseByWebhook(in pack.Installation) client.Object {
	webhook := func(name string, selector *metav1.LabelSelector) admissionregistrationv1.ValidatingWebhook {
		return admissionregistrationv1.ValidatingWebhook{
			Name: name, ClientConfig: in.ClientConfig(refusePath), ObjectSelector: selector,
			FailurePolicy: new(admissionregistrationv1.Fail), MatchPolicy: new(admissionregistrationv1.Equivalent),
			SideEffects: new(admissionregistrationv1.SideEffectClassNoneOnDryRun), TimeoutSeconds: new(timeout),
			AdmissionReviewVersions: []string{"v1"},
		}
	}
	deletions := webhook(webhookName, lockSelector())
	deletions.NamespaceSelector = &metav1.LabelSelector{} // guard.Rules writes this field of the other webhook.
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhookConfiguration},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			deletions, webhook(evictionsName, &metav1.LabelSelector{}),
		},
	}
}

// lockSelector selects locked objects.
func lockSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{lockLabel: lockValue}}
}

// writes are the operations that write an object.
var writes = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}

// writtenUsages are the requests that write Usages.
func writtenUsages(resources ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: writes,
		Rule:       admissionregistrationv1.Rule{APIGroups: groups, APIVersions: []string{"*"}, Resources: resources},
	}
}

// validateUsages returns the ValidatingWebhookConfiguration with which the API server calls
// usageHandler before it writes a Usage or the status of a Usage.
func validateUsages(in pack.Installation) client.Object {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ownConfiguration},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: validateName, ClientConfig: in.ClientConfig(validatePath),
			Rules: []admissionregistrationv1.RuleWithOperations{writtenUsages(
				"usages", "clusterusages", "usages/status", "clusterusages/status")},
			MatchConditions: in.NotTheOperator(), FailurePolicy: new(admissionregistrationv1.Fail),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(timeout),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

// defaultUsages returns the MutatingWebhookConfiguration with which the API server calls
// usageHandler.Default.
func defaultUsages(in pack.Installation) client.Object {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ownConfiguration},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: defaultName, ClientConfig: in.ClientConfig(defaultPath),
			Rules:           []admissionregistrationv1.RuleWithOperations{writtenUsages("usages", "clusterusages")},
			MatchConditions: in.NotTheOperator(), FailurePolicy: new(admissionregistrationv1.Fail),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(timeout),
			AdmissionReviewVersions: []string{"v1"}, ReinvocationPolicy: new(admissionregistrationv1.IfNeededReinvocationPolicy),
		}},
	}
}
