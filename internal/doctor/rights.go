package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/rights"
	"github.com/kinship-dev/kinship/pkg/object"
)

// reviews is how many SubjectAccessReviews denied sends at once.
const reviews = 8

// grant is a Role or ClusterRole that a ServiceAccount has by a binding.
type grant struct {
	role, binding client.Object
	rules         []rbacv1.PolicyRule
	// account is the name of the ServiceAccount.
	account string
	// namespace is the namespace of a RoleBinding; "" means the whole cluster.
	namespace string
	// repair is the Action that gives the rights again.
	repair string
}

// grantsOf joins the Roles, ClusterRoles and bindings among objects to grants.
func grantsOf(objects []client.Object, repair string) []grant {
	key := func(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }
	roles, rules := map[string]client.Object{}, map[string][]rbacv1.PolicyRule{}
	for _, obj := range objects {
		switch role := obj.(type) {
		case *rbacv1.ClusterRole:
			k := key("ClusterRole", "", role.Name)
			roles[k], rules[k] = role, role.Rules
		case *rbacv1.Role:
			k := key("Role", role.Namespace, role.Name)
			roles[k], rules[k] = role, role.Rules
		}
	}
	var all []grant
	add := func(binding client.Object, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		namespace := binding.GetNamespace()
		if ref.Kind == "ClusterRole" {
			namespace = ""
		}
		k := key(ref.Kind, namespace, ref.Name)
		for _, s := range subjects {
			all = append(all, grant{roles[k], binding, rules[k], s.Name, binding.GetNamespace(), repair})
		}
	}
	for _, obj := range objects {
		switch binding := obj.(type) {
		case *rbacv1.ClusterRoleBinding:
			add(binding, binding.RoleRef, binding.Subjects)
		case *rbacv1.RoleBinding:
			add(binding, binding.RoleRef, binding.Subjects)
		}
	}
	return all
}

// checkRights checks every right of every ServiceAccount by a SubjectAccessReview.
func (d *doctor) checkRights(ctx context.Context) (int, []Finding, error) {
	if len(d.chosen) == 0 {
		return 0, nil, nil
	}
	objects := rights.Objects(d.chosen, d.options.Namespaces)
	findings, err := d.checkAccounts(ctx, objects)
	if err != nil {
		return 0, nil, err
	}
	grants := grantsOf(objects, reinstall)
	for _, a := range d.additions {
		grants = append(grants, grantsOf(a.Rights, a.Repair)...)
	}
	checked := 0
	for _, g := range grants {
		asked := g.rights()
		checked += len(asked)
		denied, err := d.denied(ctx, g, asked)
		if err != nil {
			return checked, findings, err
		}
		if len(denied) == 0 && len(asked) > 0 {
			continue // Another role may give the same rights.
		}
		why, err := d.whyDenied(ctx, g, denied)
		if err != nil {
			return checked, findings, err
		}
		findings = appendNew(findings, why...)
	}
	roles, users, err := d.checkUserRoles(ctx)
	return checked + roles, append(findings, users...), err
}

// appendNew appends those Findings about which findings has none of the same object, reason and message: the roles
// and bindings of many kinds are the same objects.
func appendNew(findings []Finding, more ...Finding) []Finding {
	for _, f := range more {
		known := slices.ContainsFunc(findings, func(other Finding) bool {
			return other.Object == f.Object && other.Reason == f.Reason && other.Message == f.Message
		})
		if !known {
			findings = append(findings, f)
		}
	}
	return findings
}

// checkAccounts returns a Finding AccountMissing for each ServiceAccount that does not exist.
func (d *doctor) checkAccounts(ctx context.Context, objects []client.Object) ([]Finding, error) {
	var findings []Finding
	for _, obj := range objects {
		if _, ok := obj.(*corev1.ServiceAccount); !ok {
			continue
		}
		live, err := install.Read(ctx, d.client, obj)
		if err != nil {
			return nil, err
		}
		if live == nil {
			findings = append(findings, Finding{
				Object: object.ID{Kind: "ServiceAccount", Namespace: obj.GetNamespace(), Name: obj.GetName()},
				Reason: "AccountMissing", Message: "the operator can't act as this account", Action: reinstall,
			})
		}
	}
	return findings, nil
}

// rights returns a ResourceAttributes for each verb on each resource of a grant.
func (g grant) rights() []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	for _, rule := range g.rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, path := range rule.Resources {
				resource, subresource, _ := strings.Cut(path, "/")
				if resource == rights.NoKind.Resource {
					continue
				}
				for _, name := range names {
					for _, verb := range rule.Verbs {
						all = append(all, authorizationv1.ResourceAttributes{
							Namespace: g.namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name,
						})
					}
				}
			}
		}
	}
	return all
}

// denied returns those of the rights in asked that the grant's ServiceAccount does not have, in the
// same order.
func (d *doctor) denied(
	ctx context.Context, g grant, asked []authorizationv1.ResourceAttributes,
) ([]authorizationv1.ResourceAttributes, error) {
	refused := make([]bool, len(asked))
	errs := make([]error, len(asked))
	var group errgroup.Group
	group.SetLimit(reviews)
	for i := range asked {
		group.Go(func() error {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: options.UserPrefix + g.account, ResourceAttributes: &asked[i],
				Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + options.Namespace, "system:authenticated"},
			}}
			errs[i] = d.client.Create(ctx, review)
			refused[i] = !review.Status.Allowed
			return nil
		})
	}
	_ = group.Wait() // errs has the errors.
	var denied []authorizationv1.ResourceAttributes
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("ask for the rights of account %s: %w", g.account, err)
		}
		if refused[i] {
			denied = append(denied, asked[i])
		}
	}
	return denied, nil
}

// whyDenied reads the role and the binding of a grant, and returns the Finding RoleMissing,
// BindingMissing or another that explains the denied rights.
func (d *doctor) whyDenied(
	ctx context.Context, g grant, denied []authorizationv1.ResourceAttributes,
) ([]Finding, error) {
	for _, part := range []struct {
		obj    client.Object
		reason string
	}{{g.role, "RoleMissing"}, {g.binding, "BindingMissing"}} {
		id, err := d.idOf(part.obj)
		if err != nil {
			return nil, err
		}
		live, err := install.Read(ctx, d.client, part.obj)
		if err != nil {
			return nil, err
		}
		if live == nil {
			return []Finding{{
				Object: id, Reason: part.reason, Message: "account " + g.account + " has no rights without it", Action: g.repair,
			}}, nil
		}
	}
	id, err := d.idOf(g.role)
	if err != nil {
		return nil, err
	}
	findings, err := d.checkBinding(ctx, g)
	if err != nil || len(findings) > 0 {
		return findings, err
	}
	var order []string
	verbs := map[string][]string{}
	for _, right := range denied {
		what := right.Resource
		if right.Subresource != "" {
			what += "/" + right.Subresource
		}
		if right.Group != "" {
			what += "." + right.Group
		}
		if right.Name != "" {
			what += " " + right.Name
		}
		if verbs[what] == nil {
			order = append(order, what)
		}
		verbs[what] = append(verbs[what], right.Verb)
	}
	for _, what := range order {
		message := fmt.Sprintf("account %s may not %s %s", g.account, strings.Join(verbs[what], ", "), what)
		if g.namespace != "" {
			message += " in namespace " + g.namespace
		}
		findings = append(findings, Finding{
			Object: id, Field: "rules", Reason: "RightMissing", Message: message,
			Action: "add the rule to the role, or " + g.repair,
		})
	}
	return findings, nil
}

// checkBinding checks that the subjects and the roleRef of a binding name grant.account and
// grant.role.
func (d *doctor) checkBinding(ctx context.Context, g grant) ([]Finding, error) {
	id, err := d.idOf(g.binding)
	if err != nil {
		return nil, err
	}
	var ref rbacv1.RoleRef
	var subjects []rbacv1.Subject
	switch want := g.binding.(type) {
	case *rbacv1.ClusterRoleBinding:
		live := &rbacv1.ClusterRoleBinding{}
		err = d.client.Get(ctx, client.ObjectKeyFromObject(want), live)
		ref, subjects = live.RoleRef, live.Subjects
	case *rbacv1.RoleBinding:
		live := &rbacv1.RoleBinding{}
		err = d.client.Get(ctx, client.ObjectKeyFromObject(want), live)
		ref, subjects = live.RoleRef, live.Subjects
	default:
		err = errors.New("no binding")
	}
	if apierrors.IsNotFound(err) {
		return nil, nil // It was deleted a moment ago, and the next examination says so.
	}
	if err != nil {
		return nil, fmt.Errorf("read binding %s: %w", g.binding.GetName(), err)
	}
	named := slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == options.Namespace && s.Name == g.account
	})
	switch {
	case !named:
		return []Finding{{
			Object: id, Field: "subjects", Reason: "BindingAltered",
			Message: "the binding does not name account " + g.account,
			Action:  "delete the binding, and " + g.repair,
		}}, nil
	case ref.Name != g.role.GetName():
		return []Finding{{
			Object: id, Field: "roleRef", Reason: "BindingAltered",
			Message: "the binding names role " + ref.Name + ", not " + g.role.GetName(),
			Action:  "delete the binding, because its roleRef can't be changed, and " + g.repair,
		}}, nil
	}
	return nil, nil
}
