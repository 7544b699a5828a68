package azure

import (
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
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// RoleName is the name of the ClusterRole with the rights to the enabled kinds.
const RoleName = "kinship-azure-kinds"

// rulesOf returns the rights that the pack needs to serve kinds, such as
// virtualnetworks.microsoft.network.infra.azure.com: three PolicyRules for each group, in a fixed
// order.
func rulesOf(kinds []string) (rules []rbacv1.PolicyRule) {
	plurals := map[string][]string{} // by group
	for _, kind := range sets.List(sets.New(kinds...)) {
		plural, group, _ := strings.Cut(kind, ".")
		plurals[group] = append(plurals[group], plural)
	}
	for _, group := range slices.Sorted(maps.Keys(plurals)) {
		rule := func(part string, verbs ...string) rbacv1.PolicyRule {
			resources := make([]string, 0, len(plurals[group]))
			for _, plural := range plurals[group] {
				resources = append(resources, plural+part)
			}
			return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
		}
		rules = append(rules,
			// The operator deletes objects with the resource of their owner (external.Kind.Cascades). The
			// admission plugin OwnerReferencesPermissionEnforcement also lets only a user with the right to
			// delete an object set its ownerReferences.
			rule("", "get", "list", "watch", "patch", "delete"), rule("/status", "patch"),
			// OwnerReferencesPermissionEnforcement requires this right for blockOwnerDeletion.
			rule("/finalizers", "update"),
		)
	}
	return rules
}

// nameOfKind returns the name of a kind's CustomResourceDefinition, such as
// virtualnetworks.microsoft.network.infra.azure.com.
func nameOfKind(k *catalogue.Kind) string { return k.GroupVersionResource().GroupResource().String() }

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

// definitions returns the CustomResourceDefinitions that match.
func definitions(
	ctx context.Context, c client.Client, matching ...client.ListOption,
) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(definitionOf(&catalogue.Kind{}).GroupVersionKind())
	if err := c.List(ctx, list, matching...); err != nil {
		return nil, fmt.Errorf("list definitions: %w", err)
	}
	return list.Items, nil
}

// Grant names the account that gets the rights to kinds, and the namespaces.
type Grant struct {
	Account rbacv1.Subject
	// Namespaces, if set, are the namespaces in which the account gets the rights.
	Namespaces []string
	// Narrowed, if set, is called if [Enable] has deleted the rights in other namespaces.
	Narrowed func()
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

// inNamespace returns the namespace of a binding for a message, or "" for a binding in all namespaces.
func inNamespace(binding client.Object) string {
	if binding.GetNamespace() == "" {
		return ""
	}
	return " in namespace " + binding.GetNamespace()
}

// bind applies [Grant.bindings]. With Grant.Namespaces, bind deletes the ClusterRoleBinding of an
// earlier [Enable] without namespaces.
func (g Grant) bind(ctx context.Context, c client.Client) error {
	var failed []error
	for _, binding := range g.bindings() {
		if err := apply(ctx, c, binding); err != nil {
			failed = append(failed, fmt.Errorf("give the rights to the kinds%s: %w", inNamespace(binding), err))
		}
	}
	if len(failed) > 0 || len(g.Namespaces) == 0 {
		return errors.Join(failed...)
	}
	err := c.Delete(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: RoleName}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take away the rights to the kinds in other namespaces: %w", err)
	}
	if g.Narrowed != nil {
		g.Narrowed()
	}
	return nil
}

// Enable gives an account the rights to kinds, and applies their CustomResourceDefinitions. Enable
// writes the rights earlier, because the operator watches a kind as soon as the API server serves
// the kind. Kinds that are enabled already stay enabled, and get their rights again if somebody
// changed or deleted the ClusterRole. Enable adds a version of an enabled kind only if all objects
// of the kind mean the same in that version; otherwise Enable changes nothing, and the error names
// the objects.
func Enable(
	ctx context.Context, c client.Client, all *catalogue.Catalogue, kinds []*catalogue.Kind, grant Grant,
) error {
	for _, k := range kinds {
		if _, err := define(ctx, c, all, k); err != nil {
			return fmt.Errorf("nothing was enabled: %w", err)
		}
	}
	enabled, err := definitions(ctx, c, client.MatchingLabels(enabledLabels()))
	if err != nil {
		return err
	}
	err = writeRoles(ctx, c, func(names sets.Set[string]) {
		for _, d := range enabled {
			names.Insert(d.Name)
		}
		for _, k := range kinds {
			names.Insert(nameOfKind(k))
		}
	})
	if err != nil {
		return err
	}
	if err := grant.bind(ctx, c); err != nil {
		return err
	}
	for _, k := range kinds { // Two of these may be versions of one kind.
		crd, err := define(ctx, c, all, k)
		if err != nil {
			return err
		}
		if err := apply(ctx, c, crd); err != nil {
			return err
		}
	}
	for _, k := range kinds {
		if err := watch.AwaitDefinition(ctx, c, nameOfKind(k), k.Version); err != nil {
			return err
		}
	}
	return nil
}

// apply applies an object as the field manager of [Enable].
func apply(ctx context.Context, c client.Client, obj client.Object) error {
	u, err := pack.Manifest(c.Scheme(), obj)
	if err != nil {
		return err
	}
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldOwner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}

// definitionOf returns an empty CustomResourceDefinition with the name of a kind's
// CustomResourceDefinition.
func definitionOf(k *catalogue.Kind) *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName(nameOfKind(k))
	return crd
}

// writeRoles changes the kinds of the operator's ClusterRole, and writes the ClusterRoles that
// Kubernetes aggregates into its own ClusterRoles view, edit and admin: a user with the role edit in
// a namespace may edit the enabled kinds there.
func writeRoles(ctx context.Context, c client.Client, change func(kinds sets.Set[string])) error {
	err := writeRole(ctx, c, RoleName, func(role *rbacv1.ClusterRole) error {
		kinds := sets.New(kindsOfRules(role.Rules)...)
		change(kinds)
		role.Rules = rulesOf(sets.List(kinds))
		return nil
	})
	if err != nil {
		return err
	}
	for i, users := range userRoles(nil) {
		err := writeRole(ctx, c, users.Name, func(role *rbacv1.ClusterRole) error {
			// Another command may have changed the kinds: what is written last has the last kinds.
			own, err := readRole(ctx, c)
			if err != nil {
				return err
			}
			role.Rules = userRoles(kindsOfRules(own.Rules))[i].Rules
			maps.Copy(role.Labels, users.Labels)
			return nil
		})
		if err != nil {
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

// writeRole creates or changes a ClusterRole, and repeats the change if another client wrote first.
func writeRole(ctx context.Context, c client.Client, name string, change func(*rbacv1.ClusterRole) error) error {
	err := retry.OnError(retry.DefaultBackoff, reconcile.IsOvertaken, func() error {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := controllerutil.CreateOrUpdate(ctx, c, role, func() error {
			metav1.SetMetaDataLabel(&role.ObjectMeta, enabledLabel, "true")
			return change(role)
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("write ClusterRole %s: %w", name, err)
	}
	return nil
}

// readRole reads the ClusterRole of the operator. If the ClusterRole does not exist, readRole returns
// an empty ClusterRole.
func readRole(ctx context.Context, c client.Client) (*rbacv1.ClusterRole, error) {
	role := &rbacv1.ClusterRole{}
	if err := c.Get(ctx, client.ObjectKey{Name: RoleName}, role); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read ClusterRole %s: %w", RoleName, err)
	}
	return role, nil
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
		if err := watch.AwaitNoDefinition(ctx, c, nameOfKind(k)); err != nil {
			return fmt.Errorf("the rights to %s were kept, disable the kind once more when its last objects are gone: %w",
				k.Kind, err)
		}
	}
	role, err := readRole(ctx, c)
	if err != nil || role.UID == "" {
		return err
	}
	return writeRoles(ctx, c, func(names sets.Set[string]) {
		for _, k := range kinds {
			names.Delete(nameOfKind(k))
		}
	})
}
