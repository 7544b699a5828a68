package pack

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Verbs of users on the kinds of packs. The verbs protect, use and override are not among them: what an object names
// still needs the rights of the object's author.
var (
	ViewVerbs = []string{"get", "list", "watch"}
	EditVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}
)

// AggregateLabel returns the label by which Kubernetes adds the rules of a ClusterRole to its ClusterRole view, edit or
// admin.
func AggregateLabel(to string) string { return "rbac.authorization.k8s.io/aggregate-to-" + to }

// UserRole returns a ClusterRole with verbs on kinds, such as networks.openstack.k-orc.cloud. Kubernetes adds the rules
// to those of its ClusterRoles view, edit or admin, which aggregateTo names.
func UserRole(name string, kinds, verbs []string, aggregateTo ...string) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, to := range aggregateTo {
		role.Labels[AggregateLabel(to)] = "true"
	}
	at := map[string]int{}
	for _, kind := range kinds {
		plural, group, _ := strings.Cut(kind, ".")
		i, known := at[group]
		if !known {
			i = len(role.Rules)
			at[group] = i
			role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: verbs})
		}
		role.Rules[i].Resources = append(role.Rules[i].Resources, plural)
	}
	return role
}
