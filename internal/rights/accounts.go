package rights

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
)

// ServiceAccount returns a ServiceAccount as an installation applies it, without labels.
func ServiceAccount(name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: name}}
}

// LeftOut is an annotation of the ServiceAccount of a pack. The value is "true" if the last installation left the pack
// out, and empty after an installation with the pack. Users have no rights in the operator's namespace.
const LeftOut = "kinship.dev/left-out"

// Objects returns the namespace kinship-system, the ServiceAccounts and their rights. Each pack has
// a ServiceAccount and a ClusterRole of the same name. So no pack has the rights of another pack,
// and a pack that is off has no rights. With --namespaces, the ClusterRole has the rights to
// cluster-scoped resources, and a Role of the same name in each namespace has the other rights.
func Objects(chosen []pack.Pack, namespaces []string) []client.Object {
	subjects := func(name string) []rbacv1.Subject { return []rbacv1.Subject{options.SubjectOf(name)} }
	own := metav1.ObjectMeta{Namespace: options.Namespace, Name: options.Account}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: options.Namespace}}, ServiceAccount(options.Account),
		&rbacv1.Role{ObjectMeta: own, Rules: ownRules(namespaces)},
		&rbacv1.RoleBinding{
			ObjectMeta: own, Subjects: subjects(options.Account),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: options.Account},
		},
	}
	role := func(name string, rules []rbacv1.PolicyRule, namespaces ...string) {
		if len(namespaces) > 0 {
			var inside []rbacv1.PolicyRule
			rules, inside = scope(rules)
			objects = append(objects, inNamespaces(name, inside, subjects(name), namespaces)...)
		}
		if len(rules) == 0 {
			return
		}
		objects = append(objects,
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects(name),
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			})
	}
	role(options.Account, engineRules(chosen), namespaces...)
	if len(namespaces) > 0 && !slices.Contains(namespaces, metav1.NamespaceDefault) {
		// Kubernetes keeps Events about objects without a namespace in namespace default.
		objects = append(objects, inNamespaces(options.Account, []rbacv1.PolicyRule{eventRule}, subjects(options.Account),
			[]string{metav1.NamespaceDefault})...)
	}
	objects = append(objects, &rbacv1.ClusterRole{ // For the account of a metrics scraper, which the administrator binds.
		ObjectMeta: metav1.ObjectMeta{Name: MetricsReader},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{MetricsPath}, Verbs: []string{"get"}}},
	})
	for _, p := range chosen {
		account := ServiceAccount(options.AccountOf(p.Name))
		account.Annotations = map[string]string{LeftOut: ""}
		objects = append(objects, account)
		role(options.AccountOf(p.Name), p.Rules(), namespaces...)
		objects = append(objects, kindRole(p, subjects(options.AccountOf(p.Name)), namespaces)...)
	}
	return objects
}

// inNamespaces returns a Role and its RoleBinding for each namespace.
func inNamespaces(
	name string, rules []rbacv1.PolicyRule, subjects []rbacv1.Subject, namespaces []string,
) []client.Object {
	if len(rules) == 0 {
		return nil
	}
	objects := make([]client.Object, 0, 2*len(namespaces))
	for _, namespace := range namespaces {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
		objects = append(objects, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		})
	}
	return objects
}

// ownRules are the rights of [options.Account] in namespace kinship-system: to the certificate's Secret, to
// Leases, and to tokens of the packs' ServiceAccounts. ownRules include the tokens of packs that
// are off, because another operator with other packs may share the Role. With --namespaces, the
// Role needs eventRule too, for Events about Leases.
func ownRules(namespaces []string) []rbacv1.PolicyRule {
	accounts := make([]string, 0, len(options.PackNames()))
	for _, name := range options.PackNames() {
		accounts = append(accounts, options.AccountOf(name))
	}
	rules := []rbacv1.PolicyRule{
		{
			APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: accounts,
			Verbs: []string{"create"},
		},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{options.CertificateSecret},
			Verbs: []string{"get", "watch", "update"},
		},
		{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
			Verbs: []string{"create", "get", "list", "update", "delete"},
		},
	}
	if len(namespaces) > 0 {
		rules = append(rules, eventRule)
	}
	return rules
}

// eventRule is the right to create and patch Events.
var eventRule = rbacv1.PolicyRule{
	APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"},
}

// engineRules are the rights that the engine needs for every pack: to create SubjectAccessReviews,
// to watch CustomResourceDefinitions and APIServices, to record Events, and to write the packs'
// webhook configurations, by name.
func engineRules(chosen []pack.Pack) []rbacv1.PolicyRule {
	var webhooks []string
	for _, p := range chosen {
		for _, obj := range p.Objects(pack.Installation{}) {
			if name := obj.GetName(); guards.WebhooksOf(obj) != nil && !slices.Contains(webhooks, name) {
				webhooks = append(webhooks, name)
			}
		}
	}
	watch := []string{"list", "watch"}
	rules := []rbacv1.PolicyRule{
		{
			APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"},
			Verbs: []string{"create"},
		},
		{ // Reviews the tokens of metrics scrapers.
			APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"},
		},
		eventRule,
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: watch},
		{APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, Verbs: watch},
		{
			APIGroups: []string{"admissionregistration.k8s.io"},
			Resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
			Verbs:     watch,
		},
		{ // Watches for the deletion of a guard.
			APIGroups: []string{"admissionregistration.k8s.io"},
			Resources: []string{
				"validatingadmissionpolicies", "validatingadmissionpolicybindings",
				"mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
			},
			Verbs: []string{"get", "list", "watch"},
		},
	}
	if len(webhooks) == 0 { // A rule without names would give the right to all configurations.
		return rules
	}
	return slices.Concat(rules, []rbacv1.PolicyRule{{
		APIGroups: []string{"admissionregistration.k8s.io"}, ResourceNames: webhooks,
		Resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
		Verbs:     []string{"get", "patch"},
	}})
}

// MetricsReader is the ClusterRole with the right to get /metrics.
const MetricsReader = "kinship-metrics-reader"

// MetricsPath is the URL path that [MetricsReader] gives the right to get.
const MetricsPath = "/metrics"
