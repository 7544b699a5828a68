package install

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/presence"
	"github.com/kinship-dev/kinship/internal/rights"
)

// idlePacks returns the packs among names that Options.Packs leaves out and that no other operator
// runs.
func idlePacks(o options.Options, running presence.Operators, names []string) (idle []pack.Pack) {
	for _, p := range options.Packs(o) {
		switch {
		case !slices.Contains(names, p.Name) || len(o.Packs) == 0 || slices.Contains(o.Packs, p.Name):
		case running.Runs(p.Name):
			o.Log.Info("Another operator runs a pack that this operator does not have", "pack", p.Name)
		default:
			idle = append(idle, p)
		}
	}
	return idle
}

// markLeftOut records that an installation leaves out a pack, whose account stays.
func markLeftOut(ctx context.Context, c client.Client, name string) error {
	own := rights.ServiceAccount(options.AccountOf(name))
	live, err := Read(ctx, c, own)
	if err != nil || live == nil {
		return err // Earlier releases had no account of their own.
	}
	own.SetAnnotations(map[string]string{rights.LeftOut: "true"})
	label(own)
	return apply(ctx, c, own)
}

// LeftOutPacks returns which of the packs the last installation left out.
func LeftOutPacks(ctx context.Context, c client.Client, names []string) (all []string, err error) {
	for _, name := range names {
		live, err := Read(ctx, c, rights.ServiceAccount(options.AccountOf(name)))
		if err != nil {
			return nil, err
		}
		if live != nil && live.GetAnnotations()[rights.LeftOut] != "" {
			all = append(all, name)
		}
	}
	return all, nil
}

// LastPacks returns the packs of the last installation or, in a cluster without an installation, [options.FirstPacks].
// The user who asks needs the rights to read ClusterRoles, and ServiceAccounts in namespace kinship-system.
func LastPacks(ctx context.Context, c client.Client) ([]string, error) {
	names, err := InstalledPacks(ctx, c, options.PackNames())
	if err != nil {
		return nil, fmt.Errorf("find the packs of the last installation, which --packs would name: %w", err)
	}
	left, err := LeftOutPacks(ctx, c, names)
	if err != nil {
		return nil, fmt.Errorf("find the packs of the last installation, which --packs would name: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(left, name) })
	if len(names) == 0 {
		return options.FirstPacks(), nil
	}
	return names, nil
}

// retireIdle marks packs that are installed, that this installation does not have, and that no other operator runs,
// as left out, and removes their guards. The lasting policies stay and, while objects of a pack with locks exist, its
// guards. Objects, rights and finalizers of the packs stay: to remove a finalizer would leave resources of a cloud
// behind.
func retireIdle(ctx context.Context, o options.Options, c client.Client, beside []string) error {
	now := time.Now()
	running, err := presence.ReadOperators(ctx, c, now)
	if err != nil {
		return err
	}
	for _, p := range idlePacks(o, running, beside) {
		guards, err := IdleGuards(ctx, c, o, p)
		if err != nil {
			return err
		}
		rest := "kinship uninstall --packs " + p.Name
		ago := running.Restarting(now)
		if ago == 0 {
			if err := markLeftOut(ctx, c, p.Name); err != nil {
				return err
			}
		}
		switch {
		case len(guards) == 0:
			o.Log.Info("A pack is installed that this operator does not run, and its policies stay: run it too, or "+rest,
				"pack", p.Name)
		case ago > 0:
			slog.New(logr.ToSlogHandler(o.Log)).Warn("Guards of a pack stay because an operator of the pack may be restarting: "+
				"Lease "+options.LeaseName+" was renewed "+ago.Round(time.Second).String()+" ago. If no operator runs the "+
				"pack any more, "+
				"start again with --install "+presence.RestartTime.String()+" after that, or "+rest,
				"pack", p.Name, "guards", guardNames(guards))
		default:
			if err := retire(ctx, o, c, p, guards); err != nil {
				return err
			}
		}
	}
	return nil
}

// retire removes the guards of one pack that no operator runs. A pack with locks, such as usage, keeps its guards while
// objects of the pack exist, because protection must not end by an option that the user forgot.
func retire(
	ctx context.Context, o options.Options, c client.Client, p pack.Pack, guards []*unstructured.Unstructured,
) error {
	warn := slog.New(logr.ToSlogHandler(o.Log)).Warn
	rest := "kinship uninstall --packs " + p.Name
	if len(p.Locks) > 0 {
		objects, err := keptBy(ctx, c, p)
		if err != nil {
			return err
		}
		if objects != "" {
			warn("Guards of a pack that no operator runs refuse requests, and stay because objects of the pack exist: "+
				"run the pack too, or "+rest+" --with-objects", "pack", p.Name, "guards", guardNames(guards), "objects", objects)
			return nil
		}
	}
	if err := DeleteAll(ctx, c, guards, func(string, ...any) {}); err != nil {
		return err
	}
	warn("Removed the guards of a pack that no operator runs. What else the pack has is left, with the policies that the "+
		"API server judges by without an operator: "+rest+" removes it", "pack", p.Name, "guards", guardNames(guards))
	return nil
}

// WarnIdle logs a warning about installed guards of idlePacks. Without --install, an operator has
// no right to delete a guard.
func WarnIdle(ctx context.Context, o options.Options, c client.Client) error {
	running, err := presence.ReadOperators(ctx, c, time.Now())
	if err != nil {
		return err
	}
	for _, p := range idlePacks(o, running, options.PackNames()) {
		guards, err := IdleGuards(ctx, c, o, p)
		if err != nil {
			return err
		}
		if len(guards) > 0 {
			slog.New(logr.ToSlogHandler(o.Log)).Warn("Guards of a pack that no operator runs refuse requests: run the pack "+
				"too, or kinship uninstall --packs "+p.Name, "pack", p.Name, "guards", guardNames(guards))
		}
	}
	return nil
}

// keptBy returns the name of a definition of a pack that has objects, or an empty text.
func keptBy(ctx context.Context, c client.Client, p pack.Pack) (string, error) {
	definitions, err := liveDefinitions(ctx, c, p)
	if err != nil {
		return "", err
	}
	for _, live := range definitions {
		version, ok := ServedVersion(live)
		if !ok {
			continue
		}
		_, group, _ := strings.Cut(live.GetName(), ".")
		kind, _, _ := unstructured.NestedString(live.Object, "spec", "names", "kind")
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
		if err := c.List(ctx, list, client.Limit(1)); err != nil && !meta.IsNoMatchError(err) {
			return "", fmt.Errorf("list %s: %w", live.GetName(), err)
		}
		if len(list.Items) > 0 {
			return live.GetName(), nil
		}
	}
	return "", nil
}

// liveDefinitions returns the definitions of a pack in the cluster.
func liveDefinitions(ctx context.Context, c client.Client, p pack.Pack) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, name := range p.Definitions {
		template, err := definition(name)
		if err != nil {
			return nil, err
		}
		live, err := Read(ctx, c, template)
		if err != nil {
			return nil, err
		}
		if live != nil {
			all = append(all, live)
		}
	}
	return all, nil
}

// IsLasting reports whether an object of a pack is a policy that stays until the pack is uninstalled, also while no
// operator runs the pack. The API server judges by these policies without an operator, so a policy refuses nothing that
// an author may do. Without the policies, the pack would later trust what users wrote meanwhile:
//   - KeepSecretsOf keeps the pack's own account from changing Secrets;
//   - PACK-secrets asks whether an author may use the Secrets that an object names;
//   - PACK-intents lets only the operator record a creation;
//   - PACK-status lets only the operator write status.id, by which the operator deletes a resource of a cloud.
//
// The policies of a pack with locks, such as usage, refuse the deletion of objects or the removal of a lock: only
// KeepSecretsOf stays.
func IsLasting(p pack.Pack, obj client.Object) bool {
	switch obj.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		return len(p.Locks) == 0 || obj.GetName() == options.KeepSecretsOf(p.Name)
	}
	return false
}

// IdleGuards returns the guards of a pack that are installed, of any enforcement, without those that IsLasting. The
// account of the process may list guards, and not read the webhook configurations of other packs.
func IdleGuards(
	ctx context.Context, c client.Client, o options.Options, p pack.Pack,
) ([]*unstructured.Unstructured, error) {
	all, err := everyEnforcement(o.With([]string{p.Name}))
	if err != nil {
		return nil, err
	}
	templates, _ := guards.Split(all)
	names := map[schema.GroupVersionKind][]string{}
	var kinds []schema.GroupVersionKind
	for _, obj := range templates {
		gvk, err := apiutil.GVKForObject(obj, c.Scheme())
		if err != nil {
			return nil, fmt.Errorf("identify %s: %w", obj.GetName(), err)
		}
		if names[gvk] == nil {
			kinds = append(kinds, gvk)
		}
		if !IsLasting(p, obj) {
			names[gvk] = append(names[gvk], obj.GetName())
		}
	}
	var found []*unstructured.Unstructured
	for _, gvk := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		err := c.List(ctx, list, client.MatchingLabels{options.PartOfLabel: options.PartOf})
		if meta.IsNoMatchError(err) {
			continue // An API server without MutatingAdmissionPolicy.
		}
		if err != nil {
			return nil, fmt.Errorf("list %ss: %w", gvk.Kind, err)
		}
		for i := range list.Items {
			if slices.Contains(names[gvk], list.Items[i].GetName()) {
				found = append(found, &list.Items[i])
			}
		}
	}
	return found, nil
}

func guardNames(guards []*unstructured.Unstructured) []string {
	names := make([]string, 0, len(guards))
	for _, g := range guards {
		names = append(names, g.GetKind()+" "+g.GetName())
	}
	return names
}
