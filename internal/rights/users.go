package rights

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
)

// OwnDefinitions are the CustomResourceDefinitions that install.Install applies with every pack.
var OwnDefinitions = []string{"referencegrants.kinship.dev"}

// UserRoles returns the ClusterRoles whose rules Kubernetes aggregates into its own ClusterRoles
// view, edit and admin. So a user with the role edit in a namespace may edit the namespaced kinds
// of the packs there too. For a cluster-scoped kind such as ClusterUsage, UserRoles only gives the
// right to read: an object concerns all namespaces, so only cluster administrators write it. A
// ReferenceGrant opens a namespace to other namespaces, so its writers are the admins of the
// namespace.
func UserRoles(chosen []pack.Pack) []*rbacv1.ClusterRole {
	roles := []*rbacv1.ClusterRole{
		pack.UserRole(options.Account+"-view", OwnDefinitions, pack.ViewVerbs, "view", "edit", "admin"),
		pack.UserRole(options.Account+"-admin", OwnDefinitions, pack.EditVerbs, "admin"),
	}
	for _, p := range chosen {
		if len(p.Definitions) == 0 { // Kinds that are enabled later bring their roles along.
			continue
		}
		var written []string
		for _, name := range p.Definitions {
			plural, group, _ := strings.Cut(name, ".")
			if !isClusterScoped(group, plural) {
				written = append(written, name)
			}
		}
		roles = append(roles,
			pack.UserRole(options.AccountOf(p.Name)+"-view", p.Definitions, pack.ViewVerbs, "view", "edit", "admin"))
		if p.EditRoles != nil {
			roles = append(roles, p.EditRoles(written)...)
			continue
		}
		roles = append(roles, pack.UserRole(options.AccountOf(p.Name)+"-edit", written, pack.EditVerbs, "edit", "admin"))
	}
	return roles
}
