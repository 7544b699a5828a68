package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/usage"
	"github.com/kinship-dev/kinship/internal/presence"
	"github.com/kinship-dev/kinship/internal/rights"
	"github.com/kinship-dev/kinship/pkg/object"
)

// reinstall is the Action of most Findings.
const reinstall = "install it again: helm upgrade, or kinship operator --install"

// Finding is a fault of an installation, such as a ClusterRole that lacks a right.
type Finding struct {
	// Object has the fault.
	Object object.ID `json:"object"`
	// Field of the object, if one field has the fault.
	Field string `json:"field,omitempty"`
	// Reason is a word for programs, such as RightMissing.
	Reason string `json:"reason"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Action says what to do.
	Action string `json:"action"`
}

// Check is a group of checks of the same sort, such as the rights of all accounts.
type Check struct {
	Name string `json:"name"`
	// Checked is how many facts were checked, such as rights.
	Checked  int       `json:"checked"`
	Findings []Finding `json:"findings"`
}

// Diagnosis is the result of [Examine]; `kinship doctor -o json` prints a Diagnosis.
type Diagnosis struct {
	Schema  string `json:"schema"`
	Healthy bool   `json:"healthy"`
	// Version is the release of the program that ran [Examine].
	Version string `json:"version"`
	// Packs are the packs that are installed or that an operator runs.
	Packs []string `json:"packs"`
	// Operators are the operators whose Lease is renewed in time.
	Operators []presence.OperatorState `json:"operators"`
	Checks    []Check                  `json:"checks"`
}

// diagnosisSchema is the value of Diagnosis.Schema.
const diagnosisSchema = "kinship.dev/doctor/v1alpha1"

// doctor is the state of one [Examine].
type doctor struct {
	options options.Options
	client  client.WithWatch
	now     time.Time
	// chosen are the packs to examine, configured by the Settings of the operator.
	chosen []pack.Pack
	leases presence.Operators
	// idle are packs that are installed, and that none of the operators runs, or that the last installation left out.
	idle []string
	// skew says that the installation is of another release than this program. CRDs and guards of
	// another release differ for a good reason, so compareDefinition and checkGuards report fewer
	// differences.
	skew bool
	// templates are the guards that the installation should have, by the name of the pack.
	templates map[string]map[object.ID]client.Object
	// additions are the kinds that commands enabled, such as kinship azure enable.
	additions []pack.Addition
}

// Examine checks an installation and changes nothing. For an option that the caller leaves empty,
// such as Options.Packs, Examine uses the Settings in the operators' Leases, or searches the
// cluster. Examine compares the dates of certificates with now.
func Examine(ctx context.Context, o options.Options, now time.Time) (*Diagnosis, error) {
	o.Log, o.Config = logr.Discard(), options.WithoutWarnings(o.Config)
	c, err := options.NewClient(options.Options{}, o.Config)
	if err != nil {
		return nil, err
	}
	d := &doctor{options: o, client: c, now: now, templates: map[string]map[object.ID]client.Object{}}
	if err := d.discover(ctx); err != nil {
		return nil, err
	}
	report := &Diagnosis{Schema: diagnosisSchema, Version: o.Version, Operators: d.leases.Running, Healthy: true}
	for _, p := range d.chosen {
		report.Packs = append(report.Packs, p.Name)
	}
	for _, check := range []struct {
		name string
		run  func(context.Context) (int, []Finding, error)
	}{
		{"installation", d.checkInstallation},
		{"definitions", d.checkDefinitions},
		{"operator", d.checkOperator},
		{"rights", d.checkRights},
		{"guards", d.checkGuards},
		{"certificate", d.checkCertificate},
		{"webhooks", d.checkWebhooks},
	} {
		checked, findings, err := check.run(ctx)
		if err != nil {
			findings = append(findings, unreadable(check.name, err))
		}
		report.Checks = append(report.Checks, Check{check.name, checked, slices.Concat([]Finding{}, findings)})
		report.Healthy = report.Healthy && len(findings) == 0
	}
	return report, nil
}

// unreadable returns the Finding NotChecked for a check that ended with an error, such as a List
// without the right to list.
func unreadable(check string, err error) Finding {
	f := Finding{
		Object: object.ID{Kind: "Namespace", Name: options.Namespace}, Reason: "NotChecked",
		Message: fmt.Sprintf("the check of %s was not finished: %v", check, err),
		Action:  "see whether the API server is well, and run kinship doctor again",
	}
	if apierrors.IsForbidden(errors.Unwrap(err)) || apierrors.IsForbidden(err) {
		f.Action = "run kinship doctor as a user with this right, such as a cluster administrator"
	}
	return f
}

// discover reads the Leases and ClusterRoles, and sets doctor.options, chosen and idle.
func (d *doctor) discover(ctx context.Context) error {
	all, err := presence.ReadOperators(ctx, d.client, d.now)
	if err != nil {
		return err
	}
	d.leases = all
	there, err := install.InstalledPacks(ctx, d.client, options.PackNames())
	if err != nil {
		return err
	}
	left, err := install.LeftOutPacks(ctx, d.client, there)
	if err != nil {
		return err
	}
	d.choosePacks(there, left)
	if err := d.narrow(ctx); err != nil {
		return err
	}
	if err := d.findLiftedBy(ctx); err != nil {
		return err
	}
	if len(d.options.Packs) == 0 {
		return nil
	}
	d.chosen, err = options.ChosenPacks(d.options)
	return err
}

// choosePacks sets Options.Packs and the idle packs, from the packs that are installed and the packs of
// them that were left out by the last installation.
func (d *doctor) choosePacks(there, left []string) {
	all, named := d.leases, d.options.Packs
	settings := all.Settings()
	run := make([]string, 0, len(settings))
	for _, s := range settings {
		d.options = s.Apply(d.options)
		run = append(run, s.Apply(options.Options{}).Packs...)
	}
	switch {
	case len(named) > 0:
		d.options.Packs = named
	case len(all.Running) == 0,
		slices.ContainsFunc(all.Running, func(s presence.OperatorState) bool { return s.Settings == nil }):
		d.options.Packs = slices.DeleteFunc(slices.Concat(run, there), func(name string) bool {
			return slices.Contains(left, name) && !all.Runs(name)
		})
	default:
		d.options.Packs = run
	}
	for _, name := range there {
		if (len(all.Running) > 0 || slices.Contains(left, name)) && !all.Runs(name) {
			d.idle = append(d.idle, name)
		}
	}
}

// narrow sets Options.Namespaces and Usage.Kinds from the Roles in the cluster if no operator has
// recorded its Settings: an installation with --namespaces or --kinds has fewer rights.
func (d *doctor) narrow(ctx context.Context) error {
	if len(d.leases.Settings()) > 0 {
		return nil
	}
	if len(d.options.Namespaces) == 0 {
		var roles rbacv1.RoleList
		if err := d.client.List(ctx, &roles, client.MatchingLabels{options.PartOfLabel: options.PartOf}); err != nil {
			return fmt.Errorf("list Roles: %w", err)
		}
		for i := range roles.Items {
			if r := &roles.Items[i]; r.Namespace != options.Namespace && slices.Contains(accounts(d.options.Packs), r.Name) {
				d.options.Namespaces = append(d.options.Namespaces, r.Namespace)
			}
		}
		d.options.Namespaces = slices.Compact(slices.Sorted(slices.Values(d.options.Namespaces)))
	}
	if len(d.options.Usage.Kinds) > 0 {
		return nil
	}
	var role rbacv1.ClusterRole
	err := d.client.Get(ctx, client.ObjectKey{Name: options.AccountOf("usage")}, &role)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read ClusterRole %s: %w", options.AccountOf("usage"), err)
	}
	wide := func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.APIGroups, rbacv1.APIGroupAll) }
	if len(d.options.Namespaces) == 0 && !slices.ContainsFunc(role.Rules, wide) {
		d.options.Usage.Kinds = []schema.GroupResource{rights.NoKind}
	}
	return nil
}

// findLiftedBy sets an empty Usage.LiftedBy from the labels of the ClusterRole usage.LiftRole, if the ClusterRole
// exists: the last installation decided, and the operator may run without the flag.
func (d *doctor) findLiftedBy(ctx context.Context) error {
	if d.options.Usage.LiftedBy != "" {
		return nil
	}
	role := &rbacv1.ClusterRole{}
	err := d.client.Get(ctx, client.ObjectKey{Name: usage.LiftRole}, role)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read ClusterRole %s: %w", usage.LiftRole, err)
	}
	d.options.Usage.LiftedBy = usage.LiftedByNone
	if to := aggregatedTo(role); len(to) > 0 {
		d.options.Usage.LiftedBy = usage.LiftedBy(to[0])
	}
	return nil
}

// accounts returns the names of the ServiceAccounts of packs, such as kinship-usage.
func accounts(packs []string) []string {
	names := make([]string, 0, len(packs))
	for _, name := range packs {
		names = append(names, options.AccountOf(name))
	}
	return names
}

// checkInstallation checks that namespace kinship-system exists, and that at least one pack is
// installed.
func (d *doctor) checkInstallation(ctx context.Context) (int, []Finding, error) {
	namespace := object.ID{Kind: "Namespace", Name: options.Namespace}
	var live corev1.Namespace
	err := d.client.Get(ctx, client.ObjectKey{Name: options.Namespace}, &live)
	switch {
	case apierrors.IsNotFound(err):
		return 1, []Finding{{
			Object: namespace, Reason: "NotInstalled", Message: "there is no such namespace: Kinship is not installed",
			Action: "install Kinship: helm install, or kinship operator --install (docs/install.md)",
		}}, nil
	case err != nil:
		return 0, nil, fmt.Errorf("read namespace %s: %w", options.Namespace, err)
	case live.DeletionTimestamp != nil:
		return 1, []Finding{{
			Object: namespace, Field: "metadata.deletionTimestamp", Reason: "Terminating",
			Message: "the namespace is being deleted, with the operator's accounts, Leases and certificate",
			Action:  "wait for the end of the deletion, and " + reinstall,
		}}, nil
	case len(d.chosen) == 0:
		return 1, []Finding{{
			Object: namespace, Reason: "NotInstalled", Message: "no pack is installed, and no operator runs",
			Action: "install Kinship: helm install, or kinship operator --install (docs/install.md)",
		}}, nil
	}
	return 1, nil, nil
}

// idOf returns the [object.ID] of an object of an installation.
func (d *doctor) idOf(obj client.Object) (object.ID, error) {
	gvk, err := apiutil.GVKForObject(obj, d.client.Scheme())
	if err != nil {
		return object.ID{}, fmt.Errorf("identify %s: %w", obj.GetName(), err)
	}
	return object.Of(obj, gvk.GroupKind()), nil
}
