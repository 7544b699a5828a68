package azure

import (
	"context"
	"errors"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/pack"
)

// additions returns a pack.Addition for each kind of Azure that is installed, and for each kind to which [RoleName]
// gives rights, in the order of the definitions' names. A definition that another tool than [Enable] installed, such
// as a GitOps tool, has no pack.Addition.Definition: the operator serves its kind too, and needs the rights.
func additions(
	ctx context.Context, c client.Client, all *catalogue.Catalogue, grant Grant,
) ([]pack.Addition, error) {
	installed, err := definitions(ctx, c)
	if err != nil {
		return nil, err
	}
	role, err := readRole(ctx, c)
	if err != nil {
		return nil, err
	}
	names, byOthers := sets.New(kindsOfRules(role.Rules)...), sets.New[string]()
	for _, d := range installed {
		if !strings.HasSuffix(d.Name, catalogue.GroupSuffix) {
			continue
		}
		names.Insert(d.Name)
		if d.Labels[enabledLabel] == "" {
			byOthers.Insert(d.Name)
		}
	}
	found := make([]pack.Addition, 0, len(names))
	for _, name := range sets.List(names) {
		addition, err := additionOf(ctx, c, all, name, !byOthers.Has(name))
		if err != nil {
			return nil, err
		}
		addition.Rights = append([]client.Object{&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: RoleName}, Rules: rulesOf([]string{name}),
		}}, grant.bindings()...)
		addition.UserRoles = userRoles([]string{name})
		if len(grant.Namespaces) > 0 {
			addition.Repair += " --namespaces " + strings.Join(grant.Namespaces, ",")
		}
		found = append(found, addition)
	}
	return found, nil
}

// additionOf returns the Name, the Definition and the Repair of the pack.Addition of a kind. Without byEnable,
// another tool than [Enable] installed the definition.
func additionOf(
	ctx context.Context, c client.Client, all *catalogue.Catalogue, name string, byEnable bool,
) (pack.Addition, error) {
	a := pack.Addition{Name: name}
	known := all.ByResource(schema.ParseGroupResource(name))
	if known == nil {
		a.Repair = "kinship azure enable TYPE, with the catalogue that has the type"
		a.Unknown = fmt.Errorf("this catalogue has no kind %s", name)
		return a, nil
	}
	a.Repair = "kinship azure enable " + known.Type
	enabled, err := versions(ctx, c, all, known)
	var unknown *unknownVersion
	switch {
	case errors.As(err, &unknown):
		a.Unknown = err
		return a, nil
	case err != nil:
		return a, err
	case len(enabled) == 0: // The definition is missing.
		enabled = []*catalogue.Kind{known}
	}
	a.Repair = "kinship azure enable"
	for _, k := range enabled {
		a.Repair += " " + k.Type
		if k != known {
			a.Repair += "@" + k.APIVersion
		}
	}
	if !byEnable {
		return a, nil
	}
	a.Definition, err = definitionIn(all, enabled)
	return a, err
}

// definitionIn returns the CustomResourceDefinition of a kind in some versions, the stored version first.
func definitionIn(
	all *catalogue.Catalogue, enabled []*catalogue.Kind,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	u, err := enabledDefinition(all, enabled)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, crd); err != nil {
		return nil, fmt.Errorf("convert the definition %s: %w", u.GetName(), err)
	}
	return crd, nil
}

// kindsOfRules returns the definitions' names of the kinds of Azure to which rules give rights.
func kindsOfRules(rules []rbacv1.PolicyRule) (names []string) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				if strings.HasSuffix(group, catalogue.GroupSuffix) && !strings.Contains(resource, "/") {
					names = append(names, resource+"."+group)
				}
			}
		}
	}
	return names
}
