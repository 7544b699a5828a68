package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/rights"
)

// checkNamespacesExist returns an error with the missing namespaces of --namespaces: [Install]
// can't create a Role in a missing namespace.
func checkNamespacesExist(ctx context.Context, o options.Options, c client.Client) error {
	var missing []string
	for _, name := range o.Namespaces {
		err := c.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
		if apierrors.IsNotFound(err) {
			missing = append(missing, name)
			continue
		}
		if err != nil {
			return fmt.Errorf("read namespace %s of --namespaces: %w", name, err)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("--namespaces names %s, which do not exist; create them first: rights are given in each namespace",
			strings.Join(missing, ", "))
	}
	return nil
}

// StaleRoles returns the Roles and RoleBindings of [options.Account] and of the chosen packs in all
// namespaces, except those among known: another [Install] with other --namespaces has left such
// Roles.
func StaleRoles(
	ctx context.Context, o options.Options, c client.Client, known []client.Object,
) ([]*unstructured.Unstructured, error) {
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return nil, err
	}
	names := []string{options.Account}
	for _, p := range chosen {
		names = append(names, options.AccountOf(p.Name), rights.KindRoleOf(p.Name))
	}
	keep := map[string]bool{}
	for _, obj := range known {
		switch obj.(type) {
		case *rbacv1.Role:
			keep["Role "+obj.GetNamespace()+"/"+obj.GetName()] = true
		case *rbacv1.RoleBinding:
			keep["RoleBinding "+obj.GetNamespace()+"/"+obj.GetName()] = true
		}
	}
	var stale []*unstructured.Unstructured
	for _, kind := range []string{"RoleBinding", "Role"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := c.List(ctx, list, client.MatchingLabels{options.PartOfLabel: options.PartOf}); err != nil {
			return nil, fmt.Errorf("list %ss: %w", kind, err)
		}
		for i := range list.Items {
			obj := &list.Items[i]
			if slices.Contains(names, obj.GetName()) && !keep[kind+" "+obj.GetNamespace()+"/"+obj.GetName()] {
				stale = append(stale, obj)
			}
		}
	}
	return stale, nil
}

// eachAccount takes the ClusterRoleBindings of packs that this installation leaves out from
// [options.Account]. An earlier release had [options.Account] as the only ServiceAccount of all packs, and bound
// all rights to [options.Account].
func eachAccount(ctx context.Context, o options.Options, c client.Client, beside []string) error {
	for _, name := range beside {
		binding := &rbacv1.ClusterRoleBinding{}
		err := c.Get(ctx, client.ObjectKey{Name: options.AccountOf(name)}, binding)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read ClusterRoleBinding %s: %w", options.AccountOf(name), err)
		}
		before := binding.DeepCopy()
		for i, s := range binding.Subjects {
			if s.Kind == rbacv1.ServiceAccountKind && s.Namespace == options.Namespace && s.Name == options.Account {
				binding.Subjects[i].Name = options.AccountOf(name)
			}
		}
		if slices.Equal(before.Subjects, binding.Subjects) {
			continue
		}
		if err := c.Patch(ctx, binding, client.MergeFrom(before), guards.InstallManager); err != nil {
			return fmt.Errorf("take the rights of pack %s from account %s: %w", name, options.Account, err)
		}
		o.Log.Info("The account of the process has the rights of a pack no more that is not installed now",
			"pack", name)
	}
	return nil
}
