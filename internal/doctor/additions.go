package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/rights"
	"github.com/kinship-dev/kinship/pkg/object"
)

// findAdditions sets doctor.additions: the kinds that commands enabled for the chosen packs.
func (d *doctor) findAdditions(ctx context.Context) error {
	for _, p := range d.chosen {
		if p.Additions == nil {
			continue
		}
		found, err := p.Additions(ctx, d.client, options.SubjectOf(options.AccountOf(p.Name)), d.options.Namespaces)
		if err != nil {
			return fmt.Errorf("find what was enabled for pack %s: %w", p.Name, err)
		}
		d.additions = append(d.additions, found...)
	}
	return nil
}

// checkAddedDefinitions sets doctor.additions, and checks their CustomResourceDefinitions.
func (d *doctor) checkAddedDefinitions(ctx context.Context) ([]Finding, error) {
	if err := d.findAdditions(ctx); err != nil {
		return nil, err
	}
	var findings []Finding
	for _, a := range d.additions {
		if a.Unknown != nil {
			findings = append(findings, Finding{
				Object: definitionID(a.Name), Reason: "NotChecked", Message: a.Unknown.Error(),
				Action: "run kinship doctor with the --azure-catalogue of the operator, or the program of the operator's release",
			})
			continue
		}
		live := &apiextensionsv1.CustomResourceDefinition{}
		err := d.client.Get(ctx, client.ObjectKey{Name: a.Name}, live)
		if client.IgnoreNotFound(err) != nil {
			return findings, fmt.Errorf("read definition %s: %w", a.Name, err)
		}
		template := a.Definition
		if apierrors.IsNotFound(err) {
			live = nil
		} else if template == nil {
			template = live // Of another tool: doctor only checks that the API server serves the kind.
		}
		if template == nil {
			continue // It was deleted a moment ago.
		}
		findings = append(findings, d.compareDefinition(live, template, a.Repair)...)
	}
	return findings, nil
}

// checkUserRoles checks the ClusterRoles that Kubernetes aggregates into its own ClusterRoles view, edit and admin.
func (d *doctor) checkUserRoles(ctx context.Context) (checked int, findings []Finding, err error) {
	if d.skew {
		return 0, nil, nil // Another release gives users other rights.
	}
	check := func(want *rbacv1.ClusterRole, repair string) error {
		checked++
		f, err := d.compareUserRole(ctx, want, repair)
		if f != nil {
			findings = appendNew(findings, *f)
		}
		return err
	}
	for _, role := range rights.UserRoles(d.chosen) {
		if err := check(role, reinstall); err != nil {
			return checked, findings, err
		}
	}
	for _, a := range d.additions {
		for _, role := range a.UserRoles {
			if err := check(role, a.Repair); err != nil {
				return checked, findings, err
			}
		}
	}
	return checked, findings, nil
}

// compareUserRole returns a Finding if a ClusterRole is missing, lacks a label by which Kubernetes aggregates the
// ClusterRole, or lacks a right.
func (d *doctor) compareUserRole(ctx context.Context, want *rbacv1.ClusterRole, repair string) (*Finding, error) {
	found := &Finding{
		Object: object.ID{Group: rbacv1.GroupName, Kind: "ClusterRole", Name: want.Name}, Action: repair,
	}
	live := &rbacv1.ClusterRole{}
	err := d.client.Get(ctx, client.ObjectKeyFromObject(want), live)
	switch {
	case apierrors.IsNotFound(err):
		found.Reason = "RoleMissing"
		found.Message = "users with Kubernetes' roles lack the rights of this role"
		return found, nil
	case err != nil:
		return nil, fmt.Errorf("read ClusterRole %s: %w", want.Name, err)
	}
	for _, to := range aggregatedTo(want) {
		if live.Labels[pack.AggregateLabel(to)] != "true" {
			found.Reason, found.Field = "RoleAltered", "metadata.labels["+pack.AggregateLabel(to)+"]"
			found.Message = "the label is missing, so users with the role " + to + " lack the rights of this role"
			return found, nil
		}
	}
	for _, rule := range want.Rules {
		for _, resource := range rule.Resources {
			if lacking := lackingVerbs(live, rule, resource); len(lacking) > 0 {
				found.Reason, found.Field = "RoleAltered", "rules"
				found.Message = fmt.Sprintf("users may not %s %s.%s by this role",
					strings.Join(lacking, ", "), resource, rule.APIGroups[0])
				return found, nil
			}
		}
	}
	return nil, nil // The role is sound.
}

// lackingVerbs returns the verbs of a rule for a resource that no rule of a ClusterRole has.
func lackingVerbs(role *rbacv1.ClusterRole, rule rbacv1.PolicyRule, resource string) (lacking []string) {
	for _, verb := range rule.Verbs {
		has := slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return hasOrAll(r.Verbs, verb) && hasOrAll(r.APIGroups, rule.APIGroups[0]) && hasOrAll(r.Resources, resource)
		})
		if !has {
			lacking = append(lacking, verb)
		}
	}
	return lacking
}

// hasOrAll reports whether a list of a PolicyRule has a value or *, which stands for all values.
func hasOrAll(list []string, value string) bool {
	return slices.Contains(list, value) || slices.Contains(list, rbacv1.VerbAll)
}

// aggregatedTo returns which of the ClusterRoles view, edit and admin get the rules of a ClusterRole.
func aggregatedTo(role *rbacv1.ClusterRole) (names []string) {
	for _, to := range []string{"view", "edit", "admin"} {
		if role.Labels[pack.AggregateLabel(to)] == "true" {
			names = append(names, to)
		}
	}
	return names
}
