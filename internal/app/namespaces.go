package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// checkNamespaces returns an error if a name in --namespaces is kinship-system or no valid DNS
// label.
func checkNamespaces(names []string) error {
	for _, name := range names {
		if name == Namespace {
			return fmt.Errorf("--namespaces: %s is the operator's own namespace: leave it out", Namespace)
		}
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("--namespaces: %q is no name of a namespace: %s", name, strings.Join(problems, "; "))
		}
	}
	return nil
}

// checkNamespacesExist returns an error with the missing namespaces of --namespaces: [Install]
// can't create a Role in a missing namespace.
func checkNamespacesExist(ctx context.Context, o Options, c client.Client) error {
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

// staleRoles returns the Roles and RoleBindings of [Account] and of the chosen packs in all
// namespaces, except those among known: another [Install] with other --namespaces has left such
// Roles.
func staleRoles(
	ctx context.Context, o Options, c client.Client, known []client.Object,
) ([]*unstructured.Unstructured, error) {
	chosen, err := choose(o)
	if err != nil {
		return nil, err
	}
	names := []string{Account}
	for _, p := range chosen {
		names = append(names, AccountOf(p.Name), kindRoleOf(p.Name))
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
		if err := c.List(ctx, list, client.MatchingLabels{partOfLabel: partOf}); err != nil {
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
// [Account]. An earlier release had [Account] as the only ServiceAccount of all packs, and bound
// all rights to [Account].
func eachAccount(ctx context.Context, o Options, c client.Client, beside []string) error {
	for _, name := range beside {
		binding := &rbacv1.ClusterRoleBinding{}
		err := c.Get(ctx, client.ObjectKey{Name: AccountOf(name)}, binding)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read ClusterRoleBinding %s: %w", AccountOf(name), err)
		}
		before := binding.DeepCopy()
		for i, s := range binding.Subjects {
			if s.Kind == rbacv1.ServiceAccountKind && s.Namespace == Namespace && s.Name == Account {
				binding.Subjects[i].Name = AccountOf(name)
			}
		}
		if slices.Equal(before.Subjects, binding.Subjects) {
			continue
		}
		if err := c.Patch(ctx, binding, client.MergeFrom(before), installManager); err != nil {
			return fmt.Errorf("take the rights of pack %s from account %s: %w", name, Account, err)
		}
		o.Log.Info("The account of the process has the rights of a pack no more that is not installed now",
			"pack", name)
	}
	return nil
}

// inNamespacesOnly returns a client.Client that lists each of namespaces in turn if the caller
// lists all namespaces. With --namespaces, the operator has no right to a List across the cluster.
func inNamespacesOnly(c client.Client, namespaces []string) client.Client {
	if len(namespaces) == 0 {
		return c
	}
	return limitedClient{c, namespaces}
}

type limitedClient struct {
	client.Client

	namespaces []string
}

// List implements client.Reader. Callers MUST NOT set ListOptions.Limit or Continue.
func (c limitedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	namespaced, err := c.IsObjectNamespaced(list)
	if err != nil {
		return fmt.Errorf("find the scope of %T: %w", list, err)
	}
	if !namespaced || options.Namespace != "" {
		return c.Client.List(ctx, list, opts...)
	}
	var all []runtime.Object
	for _, namespace := range c.namespaces {
		part := list.DeepCopyObject().(client.ObjectList)
		if err := c.Client.List(ctx, part, append(slices.Clone(opts), client.InNamespace(namespace))...); err != nil {
			return err
		}
		items, err := meta.ExtractList(part)
		if err != nil {
			return fmt.Errorf("read list: %w", err)
		}
		all = append(all, items...)
	}
	if err := meta.SetList(list, all); err != nil {
		return fmt.Errorf("make list: %w", err)
	}
	return nil
}
