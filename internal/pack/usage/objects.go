package usage

import (
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	usagev1alpha1 "github.com/kinship-dev/kinship/api/usage/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/lineage"
)

// Names in the cluster.
const (
	// webhookConfiguration and webhookName are those of the published API.
	webhookConfiguration = "crossplane-no-usages"
	webhookName          = "nousages.protection.crossplane.io"
	evictionsName        = "evictions.usage.kinship.dev"
	validateName         = "validate.usage.kinship.dev"
	defaultName          = "default.usage.kinship.dev"

	ownConfiguration = "kinship-usage"
	keepPolicy       = "kinship-usage-keep-lock"
	refusePolicy     = "kinship-usage-refuse-deletion"
	recordsPolicy    = "kinship-usage-keep-records"
	ownersPolicy     = "kinship-usage-former-owners"
	locksPolicy      = "kinship-usage-former-locks"

	refusePath   = "/validate-no-usages"
	validatePath = "/validate-usage"
	defaultPath  = "/mutate-usage"
)

// Pack returns the pack for the operator's list.
func Pack(options Options) pack.Pack {
	return pack.Pack{
		Name: "usage",
		Definitions: []string{
			"usages.apiextensions.crossplane.io", "usages.protection.crossplane.io", "clusterusages.protection.crossplane.io",
		},
		AddToScheme: func(s *runtime.Scheme) error {
			if err := protectionv1beta1.AddToScheme(s); err != nil {
				return err
			}
			return usagev1alpha1.AddToScheme(s)
		},
		Relations: Relations,
		Finalizers: []lineage.Finalizer{{
			Name: finalizer, By: "the operator", When: "what uses the protected object is gone",
			Waits: lineage.WaitsForSources,
		}},
		Locks:    locks(),
		Rules:    func() []rbacv1.PolicyRule { return rules(options) },
		Objects:  objects,
		Enforced: []string{webhookConfiguration, refusePolicy, keepPolicy}, // A lock that is taken off is put back.
		Doubt:    doubt,
		Setup: func(ctx context.Context, mgr manager.Manager, env pack.Environment) error {
			return Setup(ctx, mgr, env, options)
		},
		Watches: true,
		Trim:    trim,
		Probe:   probe,
		Traces:  traces,
	}
}

// groups are those of the kinds of Usage.
var groups = []string{protectionv1beta1.GroupVersion.Group, usagev1alpha1.GroupVersion.Group}

// rules are the rights of the pack: to what may be used or use, and to what the pack itself is
// made of.
func rules(options Options) []rbacv1.PolicyRule {
	return slices.Concat(kindRules(options), ownRights())
}

// onUsed are the verbs on used objects: their metadata is read, their label written and, for
// replay and for trying whether protection works, they are deleted.
var onUsed = []string{"get", "list", "watch", "patch", "delete"}

// kindRules are the rights to used and using objects. A Usage may name any kind, unless the
// options say which. Namespaces and definitions hold used objects, and are protected with
// them.
func kindRules(options Options) []rbacv1.PolicyRule {
	if len(options.Kinds) == 0 {
		whatever := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: onUsed}
		return slices.Concat([]rbacv1.PolicyRule{whatever, evictions}, holderRules(options))
	}
	rule := func(r schema.GroupResource, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Resource}, Verbs: verbs}
	}
	all := holderRules(options)
	for _, r := range options.Kinds {
		all = append(all, rule(r, onUsed...))
		if r == corev1.Resource("pods") {
			all = append(all, evictions)
		}
	}
	for _, r := range options.Using {
		// Using objects are deleted in order in a namespace that ends.
		all = append(all, rule(r, "get", "list", "watch", "delete"))
	}
	return all
}

// holderRules are the rights to what holds used objects and is protected with them, where these
// do not follow from rights to any kind: in no namespace stand the rights to Namespaces, which
// are narrow, and to definitions. With --enforcement=policy the operator looks after its policy.
func holderRules(options Options) []rbacv1.PolicyRule {
	definitions := rbacv1.PolicyRule{
		APIGroups: []string{apiextensionsv1.GroupName}, Resources: []string{"customresourcedefinitions"}, Verbs: onUsed,
	}
	core, plural := []string{""}, []string{"namespaces"}
	switch {
	case len(options.Namespaces) > 0:
		return []rbacv1.PolicyRule{
			{APIGroups: core, Resources: plural, Verbs: []string{"list", "watch"}},
			{
				APIGroups: core, Resources: plural, ResourceNames: options.Namespaces,
				Verbs: []string{"get", "patch", "delete"},
			},
			definitions,
			{
				APIGroups: []string{admissionregistrationv1.GroupName}, Verbs: []string{"get", "list", "watch"},
				Resources: []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"},
			},
		}
	case len(options.Kinds) > 0:
		return []rbacv1.PolicyRule{{APIGroups: core, Resources: plural, Verbs: onUsed}, definitions}
	default:
		return nil
	}
}

// evictions is the right to try whether the eviction of a used Pod is refused: a dry run.
var evictions = rbacv1.PolicyRule{
	APIGroups: []string{""}, Resources: []string{"pods/eviction"}, Verbs: []string{"create"},
}

// ownRights are the rights that the pack needs whatever is used.
func ownRights() []rbacv1.PolicyRule {
	watch := []string{"list", "watch"}
	return []rbacv1.PolicyRule{
		{
			APIGroups: groups, Resources: []string{"usages", "clusterusages"},
			Verbs: []string{"list", "watch", "patch", "delete"},
		},
		{APIGroups: groups, Resources: []string{"usages/status", "clusterusages/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"kinship.dev"}, Resources: []string{"referencegrants"}, Verbs: watch},
		// What kinds there are.
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: watch},
		{APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, Verbs: watch},
		{ // The rules of the webhook that refuses, which follow the kinds that are used.
			APIGroups: []string{admissionregistrationv1.GroupName},
			Resources: []string{"validatingwebhookconfigurations"}, Verbs: watch,
		},
		{
			APIGroups: []string{admissionregistrationv1.GroupName},
			Resources: []string{"validatingwebhookconfigurations"}, ResourceNames: []string{webhookConfiguration},
			Verbs: []string{"get", "patch"},
		},
	}
}

// objects are the webhooks and policies.
func objects(in pack.Installation) []client.Object {
	all := keepLock(in)
	if in.Enforcement == pack.ByPolicy {
		return slices.Concat(all, refuseByPolicy(), keepRecords(in), restoredObjects(in))
	}
	return append(all, refuseByWebhook(in), validateOwn(in), defaultOwn(in))
}

// refuseByWebhook asks us before a locked object is deleted, or a Pod evicted. Its
// rules are empty: the operator keeps them at the kinds that are held.
func refuseByWebhook(in pack.Installation) client.Object {
	webhook := func(name string, selector *metav1.LabelSelector) admissionregistrationv1.ValidatingWebhook {
		fail, equivalent := admissionregistrationv1.Fail, admissionregistrationv1.Equivalent
		effects, timeout := admissionregistrationv1.SideEffectClassNoneOnDryRun, int32(3)
		return admissionregistrationv1.ValidatingWebhook{
			Name: name, ClientConfig: in.ClientConfig(refusePath), ObjectSelector: selector,
			FailurePolicy: &fail, MatchPolicy: &equivalent, SideEffects: &effects, TimeoutSeconds: &timeout,
			AdmissionReviewVersions: []string{"v1"},
		}
	}
	deletions := webhook(webhookName, &metav1.LabelSelector{MatchLabels: map[string]string{lockLabel: lockValue}})
	deletions.NamespaceSelector = &metav1.LabelSelector{} // The operator keeps that of the other one.
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhookConfiguration},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			deletions, webhook(evictionsName, &metav1.LabelSelector{}),
		},
	}
}

func ownRules(resources ...string) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{
			admissionregistrationv1.Create, admissionregistrationv1.Update,
		},
		Rule: admissionregistrationv1.Rule{
			APIGroups:   []string{protectionv1beta1.GroupVersion.Group, usagev1alpha1.GroupVersion.Group},
			APIVersions: []string{"*"}, Resources: resources,
		},
	}}
}

// validateOwn has us judge Usages themselves.
func validateOwn(in pack.Installation) client.Object {
	fail, none, timeout := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, int32(3)
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ownConfiguration},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: validateName, ClientConfig: in.ClientConfig(validatePath),
			Rules:           ownRules("usages", "clusterusages", "usages/status", "clusterusages/status"),
			MatchConditions: in.NotTheOperator(),
			FailurePolicy:   &fail, SideEffects: &none, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

// defaultOwn has us complete Usages.
func defaultOwn(in pack.Installation) client.Object {
	fail, none, timeout := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, int32(3)
	again := admissionregistrationv1.IfNeededReinvocationPolicy
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ownConfiguration},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: defaultName, ClientConfig: in.ClientConfig(defaultPath),
			Rules:           ownRules("usages", "clusterusages"),
			MatchConditions: in.NotTheOperator(),
			FailurePolicy:   &fail, SideEffects: &none, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
			ReinvocationPolicy: &again,
		}},
	}
}
