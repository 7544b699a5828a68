package usage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
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

// refuseByWebhook returns the ValidatingWebhookConfiguration with which the API server calls
// deletionHandler before it deletes a locked object or evicts a Pod. guard.Rules writes the
// rules: the used kinds.
func refuseByWebhook(in pack.Installation) client.Object {
	webhook := func(name string, selector *metav1.LabelSelector) admissionregistrationv1.ValidatingWebhook {
		hook := in.ValidatingWebhook(name, refusePath)
		hook.MatchConditions = nil // The operator's own deletions are judged too.
		hook.ObjectSelector, hook.MatchPolicy = selector, new(admissionregistrationv1.Equivalent)
		hook.SideEffects = new(admissionregistrationv1.SideEffectClassNoneOnDryRun)
		return hook
	}
	deletions := webhook(webhookName, lockSelector())
	deletions.NamespaceSelector = &metav1.LabelSelector{} // guard.Rules writes this field of the other webhook.
	return pack.ValidatingWebhooks(webhookConfiguration, deletions, webhook(evictionsName, &metav1.LabelSelector{}))
}

// lockSelector selects locked objects.
func lockSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{lockLabel: lockValue}}
}

// writtenUsages are the requests that write Usages.
func writtenUsages() admissionregistrationv1.RuleWithOperations {
	return pack.Writes(groups, "usages", "clusterusages")
}

// writtenWithStatus are the requests that write Usages or their statuses.
func writtenWithStatus() admissionregistrationv1.RuleWithOperations {
	return pack.Writes(groups, "usages", "clusterusages", "usages/status", "clusterusages/status")
}

// validateUsages returns the ValidatingWebhookConfiguration with which the API server calls
// usageHandler before it writes a Usage or the status of a Usage.
func validateUsages(in pack.Installation) client.Object {
	return pack.ValidatingWebhooks(ownConfiguration, in.ValidatingWebhook(validateName, validatePath, writtenWithStatus()))
}

// defaultUsages returns the MutatingWebhookConfiguration with which the API server calls
// usageHandler.Default.
func defaultUsages(in pack.Installation) client.Object {
	hook := in.MutatingWebhook(defaultName, defaultPath, writtenUsages())
	hook.ReinvocationPolicy = new(admissionregistrationv1.IfNeededReinvocationPolicy)
	return pack.MutatingWebhooks(ownConfiguration, hook)
}

// probe tries by dry runs whether the API server calls the webhooks of Usages. The API server
// follows a new webhook configuration, and new certificates, with a delay. Both are proven when
// the mutating webhook completes a Usage, and the validating webhook refuses another Usage.
func probe(ctx context.Context, c client.Client, namespace string) error {
	thing := sharedv1alpha1.Resource{
		APIVersion: "v1", Kind: "ConfigMap", ResourceRef: &sharedv1alpha1.ResourceRef{Name: "kinship-probe"},
	}
	reason := "to try whether webhooks are called"
	u := &protectionv1beta1.Usage{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kinship-probe"},
		Spec:       sharedv1alpha1.UsageSpec{Of: thing, Reason: &reason},
	}
	itself := u.DeepCopy()
	itself.Spec.By = &thing
	if err := c.Create(ctx, u, client.DryRunAll); err != nil {
		return fmt.Errorf("try webhook %s: %w", defaultName, err)
	}
	if !finalizer.On(u) {
		return errors.New("the API server does not call webhook " + defaultName + " yet")
	}
	return pack.Probe(ctx, c, itself, validateName, "Usages")
}
