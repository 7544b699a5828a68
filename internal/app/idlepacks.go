package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinship-dev/kinship/internal/pack"
)

// idlePacks returns the packs among names that Options.Packs leaves out and that no other operator
// runs.
func idlePacks(ctx context.Context, o Options, c client.Client, names []string) ([]pack.Pack, error) {
	running, err := readLeases(ctx, c, time.Now())
	if err != nil {
		return nil, err
	}
	var idle []pack.Pack
	for _, p := range Packs(o) {
		switch {
		case !slices.Contains(names, p.Name) || len(o.Packs) == 0 || slices.Contains(o.Packs, p.Name):
		case running.runs(p.Name):
			o.Log.Info("Another operator runs a pack that this operator does not have", "pack", p.Name)
		default:
			idle = append(idle, p)
		}
	}
	return idle, nil
}

// leftOut is an annotation of the ServiceAccount of a pack: the last installation left the pack out. The next
// installation with the pack removes the annotation. Users have no rights in the operator's namespace.
const leftOut = "kinship.dev/left-out"

// markLeftOut records that an installation leaves out a pack, whose account stays.
func markLeftOut(ctx context.Context, c client.Client, name string) error {
	own := accountObject(AccountOf(name))
	live, err := read(ctx, c, own)
	if err != nil || live == nil {
		return err // Earlier releases had no account of their own.
	}
	own.SetAnnotations(map[string]string{leftOut: "true"})
	label(own)
	return apply(ctx, c, own)
}

// leftOutPacks returns which of the packs the last installation left out.
func leftOutPacks(ctx context.Context, c client.Client, names []string) (all []string, err error) {
	for _, name := range names {
		live, err := read(ctx, c, accountObject(AccountOf(name)))
		if err != nil {
			return nil, err
		}
		if live != nil && live.GetAnnotations()[leftOut] != "" {
			all = append(all, name)
		}
	}
	return all, nil
}

// accountObject returns a ServiceAccount as an installation applies it, without labels.
func accountObject(name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
}

// retireIdle marks packs that are installed, that this installation does not have, and that no other operator runs,
// as left out. retireIdle removes their guards: nobody would answer their webhooks. Those of lastingGuards stay. A
// pack with locks, such as usage, keeps its guards while objects of the pack exist, because protection must not end by
// an option that somebody forgot. Objects, rights and finalizers of the packs stay: to remove a finalizer would leave
// resources of a cloud behind.
func retireIdle(ctx context.Context, o Options, c client.Client, beside []string) error {
	idle, err := idlePacks(ctx, o, c, beside)
	if err != nil {
		return err
	}
	warn := slog.New(logr.ToSlogHandler(o.Log)).Warn
	for _, p := range idle {
		guards, err := idleGuards(ctx, c, o, p)
		if err != nil {
			return err
		}
		if err := markLeftOut(ctx, c, p.Name); err != nil {
			return err
		}
		kept, err := keptBy(ctx, c, p)
		if err != nil {
			return err
		}
		rest := "kinship uninstall --packs " + p.Name
		switch {
		case len(guards) == 0:
			o.Log.Info("A pack is installed that this operator does not run: run it too, or "+rest, "pack", p.Name)
		case kept != "":
			warn("Guards of a pack that no operator runs refuse requests, and stay because objects of the pack exist: "+
				"run the pack too, or "+rest+" --with-objects", "pack", p.Name, "guards", guardNames(guards), "objects", kept)
		default:
			if err := removeAll(ctx, c, guards, func(string, ...any) {}); err != nil {
				return err
			}
			warn("Removed the guards of a pack that no operator runs. What else the pack has is left: "+rest+" removes it",
				"pack", p.Name, "guards", guardNames(guards))
		}
	}
	return nil
}

// tellIdle logs a warning about installed guards of idlePacks. Without --install, an operator has
// no right to delete a guard.
func tellIdle(ctx context.Context, o Options, c client.Client) error {
	idle, err := idlePacks(ctx, o, c, PackNames())
	if err != nil {
		return err
	}
	for _, p := range idle {
		guards, err := idleGuards(ctx, c, o, p)
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

// keptBy returns a kind of a pack with pack.Locks of which an object exists, or "".
func keptBy(ctx context.Context, c client.Client, p pack.Pack) (string, error) {
	if len(p.Locks) == 0 {
		return "", nil
	}
	for _, name := range p.Definitions {
		template, err := definition(name)
		if err != nil {
			return "", err
		}
		live, err := read(ctx, c, template)
		if err != nil {
			return "", err
		}
		if live == nil {
			continue
		}
		version, ok := servedVersion(live)
		if !ok {
			continue
		}
		_, group, _ := strings.Cut(name, ".")
		kind, _, _ := unstructured.NestedString(live.Object, "spec", "names", "kind")
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
		if err := c.List(ctx, list, client.Limit(1)); err != nil && !meta.IsNoMatchError(err) {
			return "", fmt.Errorf("list %s: %w", name, err)
		}
		if len(list.Items) > 0 {
			return name, nil
		}
	}
	return "", nil
}

// lastingGuards returns the names of policies of a pack that no operator has to answer, and that go with the pack
// alone: without them the pack would later believe what nobody has judged. They are the policy that keeps the pack's
// own account from changing Secrets, the policy that asks whether an author may use the Secrets that an object names,
// and the policy that lets only the operator record what is created. They refuse nothing that an author may do.
func lastingGuards(packName string) []string {
	return []string{keepSecretsOf(packName), AccountOf(packName) + "-secrets", AccountOf(packName) + "-intents"}
}

// idleGuards returns the guards of a pack that are installed, of any enforcement, without lastingGuards. The account
// of the process may list guards, and not read the webhook configurations of other packs.
func idleGuards(
	ctx context.Context, c client.Client, o Options, p pack.Pack,
) ([]*unstructured.Unstructured, error) {
	all, err := everyEnforcement(o.with([]string{p.Name}))
	if err != nil {
		return nil, err
	}
	templates, _ := split(all)
	names, lasting := map[schema.GroupVersionKind][]string{}, lastingGuards(p.Name)
	var kinds []schema.GroupVersionKind
	for _, obj := range templates {
		gvk, err := apiutil.GVKForObject(obj, c.Scheme())
		if err != nil {
			return nil, fmt.Errorf("identify %s: %w", obj.GetName(), err)
		}
		if names[gvk] == nil {
			kinds = append(kinds, gvk)
		}
		if !slices.Contains(lasting, obj.GetName()) {
			names[gvk] = append(names[gvk], obj.GetName())
		}
	}
	var found []*unstructured.Unstructured
	for _, gvk := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		err := c.List(ctx, list, client.MatchingLabels{partOfLabel: partOf})
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
