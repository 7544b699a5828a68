package app

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
)

// userRoles returns the ClusterRoles by which users who have Kubernetes' own roles view, edit and admin in a
// namespace have them for the kinds of packs too: Kubernetes adds the rules of ClusterRoles with its labels. A kind
// without a namespace can be read, and is written by cluster administrators alone, because it concerns all
// namespaces. A ReferenceGrant opens a namespace to others, so its writers are the namespace's admins.
func userRoles(chosen []pack.Pack) []client.Object {
	roles := []client.Object{
		pack.UserRole(Account+"-view", ownDefinitions, pack.ViewVerbs, "view", "edit", "admin"),
		pack.UserRole(Account+"-admin", ownDefinitions, pack.EditVerbs, "admin"),
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
			pack.UserRole(AccountOf(p.Name)+"-view", p.Definitions, pack.ViewVerbs, "view", "edit", "admin"),
			pack.UserRole(AccountOf(p.Name)+"-edit", written, pack.EditVerbs, "edit", "admin"))
	}
	return roles
}
