package rights

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
)

// KindPacks are the packs that act on kinds which users choose, such as the kind in a Usage's
// spec.of. An administrator can extend the rights of these packs without a new install.Install: see
// [KindLabel].
var KindPacks = []string{"usage", "oam"}

// KindLabel returns the label by which Kubernetes aggregates the rules of a ClusterRole into the
// rights of a pack. An administrator creates a ClusterRole with KindLabel for the kinds that the
// pack's users choose.
func KindLabel(packName string) string { return "rbac.kinship.dev/aggregate-to-" + packName }

// KindRoleOf returns the name of the aggregated ClusterRole, such as kinship-usage-kinds.
func KindRoleOf(packName string) string { return options.AccountOf(packName) + "-kinds" }

// kindRole returns the ClusterRole into which Kubernetes aggregates every ClusterRole with
// [KindLabel], and its bindings to the pack's ServiceAccount: a ClusterRoleBinding or, with
// --namespaces, a RoleBinding in each namespace.
func kindRole(p pack.Pack, subjects []rbacv1.Subject, namespaces []string) []client.Object {
	if !slices.Contains(KindPacks, p.Name) {
		return nil
	}
	name := KindRoleOf(p.Name)
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	objects := []client.Object{&rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
			{MatchLabels: map[string]string{KindLabel(p.Name): "true"}},
		}},
	}}
	for _, namespace := range namespaces {
		objects = append(objects, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Subjects: subjects, RoleRef: ref,
		})
	}
	if len(namespaces) == 0 {
		objects = append(objects, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects, RoleRef: ref,
		})
	}
	return objects
}

// Kinds are resources that users of a pack choose. Using are further resources whose objects may
// use protected objects; only the pack usage has Using resources.
type Kinds struct{ Used, Using []schema.GroupResource }

// NoKind is a GroupResource that does not exist. With an empty usage.Options.Kinds, the pack usage
// would have rights to all kinds.
var NoKind = schema.GroupResource{Resource: "kinship-none"}

// KindRole returns a ClusterRole with [KindLabel] and the rights that a pack needs for kinds.
func KindRole(packName string, kinds Kinds) (*rbacv1.ClusterRole, error) {
	if !slices.Contains(KindPacks, packName) {
		return nil, fmt.Errorf("users of pack %q name no kinds: it can be %s", packName, strings.Join(KindPacks, " or "))
	}
	if packName != "usage" && len(kinds.Using) > 0 {
		return nil, fmt.Errorf("pack %s has no using kinds", packName)
	}
	names := make([]string, 0, len(kinds.Used)+len(kinds.Using))
	for _, k := range slices.Concat(kinds.Used, kinds.Using) {
		if k.Resource == "" || k.Resource == "*" || k.Group == "*" {
			return nil, fmt.Errorf("%q is no resource: name it as kubectl does, such as deployments.apps", k)
		}
		names = append(names, k.String())
	}
	o := options.Options{Packs: []string{packName}}
	o.Usage.Kinds = []schema.GroupResource{NoKind}
	before, err := rulesOf(o)
	if err != nil {
		return nil, err
	}
	o.Oam.Kinds, o.Usage.Kinds, o.Usage.Using = kinds.Used, append(o.Usage.Kinds, kinds.Used...), kinds.Using
	if err := options.CheckOamKinds(o); err != nil {
		return nil, err
	}
	after, err := rulesOf(o)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   KindRoleOf(packName) + "-" + strings.Join(slices.Compact(names), "-"),
			Labels: map[string]string{KindLabel(packName): "true"},
		},
		Rules: slices.DeleteFunc(after, func(rule rbacv1.PolicyRule) bool {
			return slices.ContainsFunc(before, func(r rbacv1.PolicyRule) bool { return reflect.DeepEqual(r, rule) })
		}),
	}, nil
}

// rulesOf returns the rules of the only pack in Options.Packs.
func rulesOf(o options.Options) ([]rbacv1.PolicyRule, error) {
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return nil, err
	}
	return chosen[0].Rules(), nil
}

// CheckRights sends a SubjectAccessReview for each right of a ClusterRole: whether [options.OperatorOf] the
// pack has the right in a namespace or, with namespace "", in the whole cluster. The error names
// each missing right.
func CheckRights(ctx context.Context, config *rest.Config, packName, namespace string, role *rbacv1.ClusterRole) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	var missing []error
	for _, rule := range role.Rules {
		resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
		for _, verb := range rule.Verbs {
			review, err := clients.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User:   options.OperatorOf(packName),
					Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + options.Namespace, "system:authenticated"},
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: rule.APIGroups[0], Resource: resource, Subresource: subresource,
					},
				},
			}, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("ask for the rights of %s: %w", options.OperatorOf(packName), err)
			}
			if !review.Status.Allowed {
				missing = append(missing, fmt.Errorf("%s may not %s %s",
					options.AccountOf(packName), verb, schema.GroupResource{Group: rule.APIGroups[0], Resource: rule.Resources[0]}))
			}
		}
	}
	return errors.Join(missing...)
}
