package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// RoleName is the name of the ClusterRole with the rights to the enabled kinds.
const RoleName = "kinship-azure-kinds"

// RulesOf returns the rights that the pack needs to serve kinds: a PolicyRule for each group and
// set of verbs.
func RulesOf(kinds []*catalogue.Kind) []rbacv1.PolicyRule {
	kinds = slices.Clone(kinds)
	slices.SortFunc(kinds, func(a, b *catalogue.Kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Plural, b.Plural))
	})
	var rules []rbacv1.PolicyRule
	for len(kinds) > 0 {
		group := kinds[0].Group
		var all, statuses, finalizers []string
		for len(kinds) > 0 && kinds[0].Group == group {
			if len(all) > 0 && all[len(all)-1] == kinds[0].Plural { // Another version.
				kinds = kinds[1:]
				continue
			}
			all = append(all, kinds[0].Plural)
			statuses = append(statuses, kinds[0].Plural+"/status")
			finalizers = append(finalizers, kinds[0].Plural+"/finalizers")
			kinds = kinds[1:]
		}
		rules = append(rules,
			// The operator deletes no object, but the admission plugin
			// OwnerReferencesPermissionEnforcement lets only a user with the right to delete an
			// object set its ownerReferences.
			rbacv1.PolicyRule{APIGroups: []string{group}, Resources: all, Verbs: []string{"list", "watch", "patch", "delete"}},
			rbacv1.PolicyRule{APIGroups: []string{group}, Resources: statuses, Verbs: []string{"patch"}},
			// OwnerReferencesPermissionEnforcement requires this right for blockOwnerDeletion.
			rbacv1.PolicyRule{APIGroups: []string{group}, Resources: finalizers, Verbs: []string{"update"}},
		)
	}
	return rules
}

// fieldOwner is the field manager of [Enable].
const fieldOwner = client.FieldOwner("kinship-azure-enable")

func enabledLabels() map[string]string { return map[string]string{enabledLabel: "true"} }

// enabledObjects returns the objects that [Enable] wrote: bindings, ClusterRoles and
// CustomResourceDefinitions.
func enabledObjects(ctx context.Context, c client.Client) (all []*unstructured.Unstructured, err error) {
	for _, gvk := range []schema.GroupVersionKind{
		rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
		rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), definitionOf(&catalogue.Kind{}).GroupVersionKind(),
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := c.List(ctx, list, client.MatchingLabels(enabledLabels())); err != nil {
			return nil, fmt.Errorf("list %ss: %w", gvk.Kind, err)
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	return all, nil
}

// enabledKinds returns the group and the plural of each kind whose definition [Enable] wrote. A ClusterRole
// that somebody deleted or changed gets the rights to these kinds again.
func enabledKinds(ctx context.Context, c client.Client) ([]*catalogue.Kind, error) {
	definitions := &metav1.PartialObjectMetadataList{}
	definitions.SetGroupVersionKind(definitionOf(&catalogue.Kind{}).GroupVersionKind())
	if err := c.List(ctx, definitions, client.MatchingLabels(enabledLabels())); err != nil {
		return nil, fmt.Errorf("list the definitions of enabled kinds: %w", err)
	}
	kinds := make([]*catalogue.Kind, 0, len(definitions.Items))
	for _, d := range definitions.Items {
		plural, group, _ := strings.Cut(d.Name, ".")
		kinds = append(kinds, &catalogue.Kind{Group: group, Plural: plural})
	}
	return kinds, nil
}

// Grant names the account that gets the rights to kinds, and the namespaces.
type Grant struct {
	Account rbacv1.Subject
	// Namespaces, if set, are the namespaces in which the account gets the rights.
	Namespaces []string
}

// bindings returns the bindings of [RoleName] to Grant.Account.
func (g Grant) bindings() []client.Object {
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: RoleName}
	if len(g.Namespaces) == 0 {
		return []client.Object{&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: RoleName, Labels: enabledLabels()},
			Subjects:   []rbacv1.Subject{g.Account}, RoleRef: role,
		}}
	}
	all := make([]client.Object, 0, len(g.Namespaces))
	for _, namespace := range g.Namespaces {
		all = append(all, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: RoleName, Labels: enabledLabels()},
			Subjects:   []rbacv1.Subject{g.Account}, RoleRef: role,
		})
	}
	return all
}

// Enable gives an account the rights to kinds, and applies their CustomResourceDefinitions. Enable
// writes the rights earlier, because the operator watches a kind as soon as the API server serves
// the kind. Kinds that are enabled already stay enabled. Enable adds a version of an enabled kind
// only if all objects of the kind mean the same in that version; otherwise Enable changes nothing,
// and the error names the objects.
func Enable(
	ctx context.Context, c client.Client, all *catalogue.Catalogue, kinds []*catalogue.Kind, grant Grant,
) error {
	for _, k := range kinds {
		if _, err := define(ctx, c, all, k); err != nil {
			return fmt.Errorf("nothing was enabled: %w", err)
		}
	}
	role, err := readRole(ctx, c, RoleName)
	if err != nil {
		return err
	}
	enabled, err := enabledKinds(ctx, c)
	if err != nil {
		return err
	}
	if err := writeRoles(ctx, c, role, with(role.Rules, append(enabled, kinds...))); err != nil {
		return err
	}
	for _, binding := range grant.bindings() {
		if err := c.Create(ctx, binding); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("give the rights to the kinds: %w", err)
		}
	}
	for _, k := range kinds { // Two of these may be versions of one kind.
		crd, err := define(ctx, c, all, k)
		if err != nil {
			return err
		}
		err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(crd), fieldOwner, client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply the definition of %s: %w", k.Kind, err)
		}
	}
	for _, k := range kinds {
		if err := watch.AwaitDefinition(ctx, c, definitionOf(k).GetName(), k.Version); err != nil {
			return err
		}
	}
	return nil
}

// definitionOf returns an empty CustomResourceDefinition with the name of a kind's
// CustomResourceDefinition.
func definitionOf(k *catalogue.Kind) *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName(k.Plural + "." + k.Group)
	return crd
}

// writeRoles writes the ClusterRole of the operator, and ClusterRoles that Kubernetes aggregates
// into its own ClusterRoles view, edit and admin: a user with the role edit in a namespace may edit
// the enabled kinds there.
func writeRoles(ctx context.Context, c client.Client, role *rbacv1.ClusterRole, rules []rbacv1.PolicyRule) error {
	if err := writeRole(ctx, c, role, rules); err != nil {
		return err
	}
	for _, want := range userRoles(kindsOfRules(rules)) {
		users, err := readRole(ctx, c, want.Name)
		if err != nil {
			return err
		}
		users.Labels = want.Labels
		if err := writeRole(ctx, c, users, want.Rules); err != nil {
			return err
		}
	}
	return nil
}

// userRoles returns the ClusterRoles of users with the rights to kinds, such as
// virtualnetworks.microsoft.network.infra.azure.com.
func userRoles(kinds []string) []*rbacv1.ClusterRole {
	return []*rbacv1.ClusterRole{
		pack.UserRole(RoleName+"-view", kinds, pack.ViewVerbs, "view", "edit", "admin"),
		pack.UserRole(RoleName+"-edit", kinds, pack.EditVerbs, "edit", "admin"),
	}
}

func writeRole(ctx context.Context, c client.Client, role *rbacv1.ClusterRole, rules []rbacv1.PolicyRule) error {
	role.Rules = rules
	role.Labels = maps.Clone(role.Labels)
	if role.Labels == nil {
		role.Labels = map[string]string{}
	}
	maps.Copy(role.Labels, enabledLabels())
	write := func() error { return c.Create(ctx, role) }
	if role.UID != "" {
		write = func() error { return c.Update(ctx, role) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("write ClusterRole %s: %w", role.Name, err)
	}
	return nil
}

// readRole reads a ClusterRole. If the ClusterRole does not exist, readRole returns a ClusterRole
// with a name only.
func readRole(ctx context.Context, c client.Client, name string) (*rbacv1.ClusterRole, error) {
	role := &rbacv1.ClusterRole{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, role); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read ClusterRole %s: %w", name, err)
	}
	role.Name = name
	return role, nil
}

// without returns the rules without the rights to kinds. without keeps the rights to other kinds,
// including kinds of another catalogue.
func without(rules []rbacv1.PolicyRule, kinds []*catalogue.Kind) (left []rbacv1.PolicyRule) {
	for _, rule := range rules {
		rule.Resources = slices.DeleteFunc(slices.Clone(rule.Resources), func(resource string) bool {
			plural, _, _ := strings.Cut(resource, "/")
			return slices.ContainsFunc(kinds, func(k *catalogue.Kind) bool {
				return k.Plural == plural && slices.Contains(rule.APIGroups, k.Group)
			})
		})
		if len(rule.Resources) > 0 {
			left = append(left, rule)
		}
	}
	return left
}

// with returns the rules with the rights to kinds, in a fixed order.
func with(rules []rbacv1.PolicyRule, kinds []*catalogue.Kind) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, rule := range append(without(rules, kinds), RulesOf(kinds)...) {
		same := slices.IndexFunc(all, func(r rbacv1.PolicyRule) bool {
			return slices.Equal(r.APIGroups, rule.APIGroups) && slices.Equal(r.Verbs, rule.Verbs)
		})
		if same < 0 {
			all = append(all, rule)
			continue
		}
		all[same].Resources = slices.Sorted(slices.Values(slices.Concat(all[same].Resources, rule.Resources)))
	}
	slices.SortStableFunc(all, func(a, b rbacv1.PolicyRule) int { return slices.Compare(a.APIGroups, b.APIGroups) })
	return all
}

// Disable deletes the CustomResourceDefinitions of kinds, and removes the rights after the API
// server has removed the CustomResourceDefinitions. Disable changes nothing while an object of the
// kinds exists.
func Disable(ctx context.Context, c client.Client, kinds []*catalogue.Kind) error {
	problems := make([]error, 0, len(kinds))
	for _, k := range kinds {
		problems = append(problems, used(ctx, c, k))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("nothing was disabled, delete the objects first: %w", err)
	}
	for _, k := range kinds {
		if err := client.IgnoreNotFound(c.Delete(ctx, definitionOf(k))); err != nil {
			return fmt.Errorf("delete the definition of %s: %w", k.Kind, err)
		}
	}
	for _, k := range kinds {
		// The API server deletes the objects earlier: the deletion of an object that was created at
		// the last moment still needs the operator and its rights to the kind.
		if err := watch.AwaitNoDefinition(ctx, c, definitionOf(k).GetName()); err != nil {
			return fmt.Errorf("the rights to %s were kept, disable the kind once more when its last objects are gone: %w",
				k.Kind, err)
		}
	}
	role, err := readRole(ctx, c, RoleName)
	if err != nil || role.UID == "" {
		return err
	}
	return writeRoles(ctx, c, role, without(role.Rules, kinds))
}
