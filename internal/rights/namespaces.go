package rights

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	usagev1alpha1 "github.com/kinship-dev/kinship/api/usage/v1alpha1"
)

// clusterScoped are the resources in pack.Rules that have no namespace. With --namespaces, account
// gives the rights to all other resources in each namespace. isClusterScoped decides about usages,
// which are cluster-scoped only in the older API group.
var clusterScoped = []string{
	"apiservices", "clusterusages", "customresourcedefinitions", "mutatingadmissionpolicies",
	"mutatingadmissionpolicybindings", "mutatingwebhookconfigurations", "namespaces", "nodes",
	"scopedefinitions", "servicecidrs", "subjectaccessreviews", "tokenreviews", "traitdefinitions",
	"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
	"workloaddefinitions",
}

// scope splits rules into rules for clusterScoped resources and rules for namespaced resources.
func scope(rules []rbacv1.PolicyRule) (cluster, namespaced []rbacv1.PolicyRule) {
	for _, rule := range rules {
		for _, inCluster := range []bool{true, false} {
			var groups []string
			var resources [][]string
			for _, group := range rule.APIGroups {
				of := slices.DeleteFunc(slices.Clone(rule.Resources), func(resource string) bool {
					return isClusterScoped(group, resource) != inCluster
				})
				if len(of) > 0 {
					groups, resources = append(groups, group), append(resources, of)
				}
			}
			part := joined(rule, groups, resources)
			if inCluster {
				cluster = append(cluster, part...)
			} else {
				namespaced = append(namespaced, part...)
			}
		}
	}
	return cluster, namespaced
}

// joined returns a PolicyRule for each run of groups with the same resources.
func joined(rule rbacv1.PolicyRule, groups []string, resources [][]string) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for i, group := range groups {
		if last := len(all) - 1; last >= 0 && slices.Equal(all[last].Resources, resources[i]) {
			all[last].APIGroups = append(all[last].APIGroups, group)
			continue
		}
		part := *rule.DeepCopy()
		part.APIGroups, part.Resources = []string{group}, resources[i]
		all = append(all, part)
	}
	return all
}

// isClusterScoped reports whether a resource in a PolicyRule, such as clusterusages/status, has no
// namespace.
func isClusterScoped(group, resource string) bool {
	plural, _, _ := strings.Cut(resource, "/")
	return slices.Contains(clusterScoped, plural) || plural == "usages" && group == usagev1alpha1.GroupVersion.Group
}
