package usage

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	usagev1alpha1 "github.com/kinship-dev/kinship/api/usage/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
)

// groups are the API groups of the kinds of Usage.
var groups = []string{protectionv1beta1.GroupVersion.Group, usagev1alpha1.GroupVersion.Group}

// rules are the rights of the pack: to used and using objects, and to the objects of the pack.
func rules(options Options) []rbacv1.PolicyRule {
	return slices.Concat(kindRules(options), ownRights())
}

// rule returns a PolicyRule for one resource.
func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// onUsed are the verbs on used objects: the operator reads their metadata and patches their
// labels. A replay, and the dry run that tests the protection, delete used objects.
var onUsed = []string{"get", "list", "watch", "patch", "delete"}

// evictions is the right to try whether the eviction of a used Pod is refused: a dry run.
var evictions = rule("", "pods/eviction", "create")

// kindRules are the rights to used and using objects. A Usage may name any kind, unless
// [Options.Kinds] is set. Namespaces and CustomResourceDefinitions contain used objects and are
// locked, too.
func kindRules(options Options) []rbacv1.PolicyRule {
	if len(options.Kinds) == 0 {
		return slices.Concat([]rbacv1.PolicyRule{rule("*", "*", onUsed...), evictions}, containerRules(options))
	}
	all := containerRules(options)
	for _, r := range options.Kinds {
		all = append(all, rule(r.Group, r.Resource, onUsed...))
		if r == corev1.Resource("pods") {
			all = append(all, evictions)
		}
	}
	for _, r := range options.Using {
		// deleteUsingFirst deletes using objects of a namespace that is being deleted.
		all = append(all, rule(r.Group, r.Resource, "get", "list", "watch", "delete"))
	}
	return all
}

// containerRules are the rights to Namespaces and CustomResourceDefinitions that do not follow
// from rights to all kinds. With --namespaces, the rights to Namespaces are narrow. With
// --enforcement=policy, the operator restores its ValidatingAdmissionPolicy.
func containerRules(options Options) []rbacv1.PolicyRule {
	definitions := rule(apiextensionsv1.GroupName, "customresourcedefinitions", onUsed...)
	switch {
	case len(options.Namespaces) > 0:
		named := rule("", "namespaces", "get", "patch", "delete")
		named.ResourceNames = options.Namespaces
		policies := rule(admissionregistrationv1.GroupName, "validatingadmissionpolicies", "get", "list", "watch")
		policies.Resources = append(policies.Resources, "validatingadmissionpolicybindings")
		return []rbacv1.PolicyRule{rule("", "namespaces", "list", "watch"), named, definitions, policies}
	case len(options.Kinds) > 0:
		return []rbacv1.PolicyRule{rule("", "namespaces", onUsed...), definitions}
	default:
		return nil
	}
}

// ownRights are the rights that the pack needs whatever kinds are used.
func ownRights() []rbacv1.PolicyRule {
	configurations := rule(admissionregistrationv1.GroupName, "validatingwebhookconfigurations", "get", "patch")
	configurations.ResourceNames = []string{webhookConfiguration}
	return []rbacv1.PolicyRule{
		{
			APIGroups: groups, Resources: []string{"usages", "clusterusages"},
			Verbs: []string{"list", "watch", "patch", "delete"},
		},
		{APIGroups: groups, Resources: []string{"usages/status", "clusterusages/status"}, Verbs: []string{"patch"}},
		rule("kinship.dev", "referencegrants", "list", "watch"),
		// The kinds that the cluster serves.
		rule(apiextensionsv1.GroupName, "customresourcedefinitions", "list", "watch"),
		rule("apiregistration.k8s.io", "apiservices", "list", "watch"),
		// guard.Rules writes the rules of the webhook: the kinds that are used.
		rule(admissionregistrationv1.GroupName, "validatingwebhookconfigurations", "list", "watch"),
		configurations,
	}
}

// LiftRole is the name of the ClusterRole of users who may lift protection: it has the right to change and delete
// Usages.
const LiftRole = "kinship-usage-lift"

// editRoles returns the ClusterRoles of users who write kinds of the pack. The right to create a Usage is apart from
// the right to change and delete a Usage: only the latter lifts protection. The author of a Usage needs rights to the
// used object besides.
func editRoles(options Options, kinds []string) []*rbacv1.ClusterRole {
	var lift []string
	switch options.LiftedBy {
	case LiftedByNone:
	case LiftedByAdmin:
		lift = []string{"admin"}
	default:
		lift = []string{"edit", "admin"}
	}
	create := slices.Index(pack.EditVerbs, "create")
	statuses := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		statuses = append(statuses, strings.Replace(kind, ".", "/status.", 1))
	}
	return []*rbacv1.ClusterRole{
		// usageHandler.status lets a user only withdraw the user's own deletions, and pack.ByPolicy refuses every write.
		pack.UserRole("kinship-usage-withdraw", statuses, []string{"patch"}, "edit", "admin"),
		pack.UserRole("kinship-usage-edit", kinds, []string{"create"}, "edit", "admin"),
		pack.UserRole(LiftRole, kinds, slices.Delete(slices.Clone(pack.EditVerbs), create, create+1), lift...),
	}
}
