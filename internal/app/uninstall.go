package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
)

// Uninstall removes every object that [Install] applied, and every pack.Trace on other objects.
// Uninstall keeps the objects that other installed packs need.
//
// Uninstall reads everything before the first change. Uninstall refuses while an operator runs,
// which would restore removed objects, and while objects of the packs exist. The order is:
//
//  1. traces, as [Operators], while the guards still exist. After a failure here, Uninstall
//     keeps the guards;
//  2. guards: webhook configurations and policies;
//  3. rights and CustomResourceDefinitions. The guards are deleted earlier, because no operator
//     answers the webhooks any more: other controllers could not remove their finalizers from
//     the objects of a CustomResourceDefinition.
func Uninstall(ctx context.Context, o Options, u UninstallOptions) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	c, err := newClient(o, o.Config)
	if err != nil {
		return err
	}
	p, err := newPlan(ctx, o, u, c)
	if err != nil {
		return fmt.Errorf("nothing was removed: %w", err)
	}
	if u.DryRun {
		p.tellDry(u)
		return nil
	}
	if err := p.refusal(u); err != nil {
		return err
	}
	if err := p.confirm(u); err != nil {
		return fmt.Errorf("nothing was removed: %w", err)
	}
	s, err := newStripper(ctx, o)
	if err != nil {
		return fmt.Errorf("nothing was removed: %w", err)
	}
	guarded := s.stripAll(ctx, p.traces.Found)
	if guarded != nil && !errors.Is(guarded, errGuarded) {
		return fmt.Errorf("the guards were left in place: %w", guarded)
	}
	if err := removeAll(ctx, c, p.guards, u.Say); err != nil {
		return err
	}
	if guarded != nil { // A webhook of an earlier release asks about the operator's writes too.
		s.patient = true
		if err := s.stripAll(ctx, p.traces.Found); err != nil {
			return err
		}
	}
	for _, line := range sum(p.traces.Found) {
		u.Say("took %s", line)
	}
	if err := removeAll(ctx, c, p.rest, u.Say); err != nil {
		return err
	}
	return forgetGuards(ctx, o, c)
}

// forgetGuards deletes the Lease with the record of each pack: without the record, the next compareRecords
// takes no guard that [Uninstall] has removed for a change.
func forgetGuards(ctx context.Context, o Options, c client.Client) error {
	chosen, err := choose(o)
	if err != nil {
		return err
	}
	for _, p := range chosen {
		if err := c.Delete(ctx, recorder{c, p.Name}.lease()); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the record of guards of pack %s: %w", p.Name, err)
		}
	}
	return nil
}

// installedBeside returns installedPacks among the packs that Options.Packs leaves out.
func installedBeside(ctx context.Context, o Options, c client.Client) ([]string, error) {
	chosen, err := choose(o)
	if err != nil {
		return nil, err
	}
	names := slices.DeleteFunc(PackNames(), func(name string) bool {
		return slices.ContainsFunc(chosen, func(p pack.Pack) bool { return p.Name == name })
	})
	return installedPacks(ctx, c, names)
}

// installedPacks returns the packs whose ClusterRole or ServiceAccount is installed.
func installedPacks(ctx context.Context, c client.Client, names []string) (all []string, err error) {
	for _, name := range names {
		own := metav1.ObjectMeta{Name: AccountOf(name)}
		role := &rbacv1.ClusterRole{ObjectMeta: own} // Earlier releases had no account of their own.
		own.Namespace = Namespace
		there, err := installed(ctx, c, []client.Object{role, &corev1.ServiceAccount{ObjectMeta: own}})
		if err != nil {
			return nil, err
		}
		if len(there) > 0 {
			all = append(all, name)
		}
	}
	return all, nil
}

// with returns the [Options] with other Options.Packs.
func (o Options) with(packs []string) Options {
	o.Packs = packs
	return o
}

// everyObject returns each object that any [Install] may have applied, once.
func everyObject(o Options) ([]client.Object, error) {
	objects, err := definitions(o)
	if err != nil {
		return nil, err
	}
	rest, err := everyEnforcement(o)
	if err != nil {
		return nil, err
	}
	return append(objects, rest...), nil
}

// everyEnforcement returns each object that [Install] with any Enforcement may have applied, once,
// without the CustomResourceDefinitions.
func everyEnforcement(o Options) ([]client.Object, error) {
	var all []client.Object
	o.Namespaces = nil // staleRoles finds Roles in namespaces.
	for _, enforcement := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		for _, mutating := range []bool{true, false} {
			o.Enforcement = enforcement
			objects, err := besideDefinitions(o, mutating)
			if err != nil {
				return nil, err
			}
			all = append(all, objects...)
		}
	}
	return others(all, nil), nil
}

// others returns each object that is not among the known objects, once.
func others(objects, known []client.Object) []client.Object {
	key := func(obj client.Object) string { return fmt.Sprintf("%T %s/%s", obj, obj.GetNamespace(), obj.GetName()) }
	seen := map[string]bool{}
	for _, obj := range known {
		seen[key(obj)] = true
	}
	return slices.DeleteFunc(slices.Clone(objects), func(obj client.Object) bool {
		again := seen[key(obj)]
		seen[key(obj)] = true
		return again
	})
}

// superseded returns the objects of an [Install] with other [Options], such as a webhook
// configuration that no operator would answer, or a policy that is now a webhook.
func superseded(
	ctx context.Context, o Options, c client.Client, objects []client.Object,
) ([]*unstructured.Unstructured, error) {
	all, err := everyEnforcement(o)
	if err != nil {
		return nil, err
	}
	left, err := installed(ctx, c, others(all, objects))
	if err != nil {
		return nil, err
	}
	stale, err := staleRoles(ctx, o, c, objects)
	return append(stale, left...), err
}

// supersede deletes the superseded objects.
func supersede(ctx context.Context, o Options, c client.Client, objects []client.Object) error {
	left, err := superseded(ctx, o, c, objects)
	if err != nil {
		return err
	}
	return removeAll(ctx, c, left, func(format string, args ...any) {
		o.Log.Info("Removed what is not needed any more", "what", fmt.Sprintf(format, args...))
	})
}

// split separates webhook configurations and admission policies, which refuse or change requests,
// from all other objects.
func split(objects []client.Object) (guards, rest []client.Object) {
	for _, obj := range objects {
		switch obj.(type) {
		case *admissionregistrationv1.ValidatingWebhookConfiguration,
			*admissionregistrationv1.MutatingWebhookConfiguration,
			*admissionregistrationv1.ValidatingAdmissionPolicy,
			*admissionregistrationv1.ValidatingAdmissionPolicyBinding,
			*admissionregistrationv1.MutatingAdmissionPolicy,
			*admissionregistrationv1.MutatingAdmissionPolicyBinding:
			guards = append(guards, obj)
		default:
			rest = append(rest, obj)
		}
	}
	return guards, rest
}

// removeAll deletes objects and waits until the API server has removed each object.
func removeAll(
	ctx context.Context, c client.Client, objects []*unstructured.Unstructured, say func(string, ...any),
) error {
	for _, live := range objects {
		if err := c.Delete(ctx, live); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s %s: %w", live.GetKind(), live.GetName(), err)
		}
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true,
			func(ctx context.Context) (bool, error) {
				err := c.Get(ctx, client.ObjectKeyFromObject(live), live.DeepCopy())
				return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
			})
		if err != nil {
			return fmt.Errorf("wait for %s %s to be gone: %w", live.GetKind(), live.GetName(), err)
		}
		say("deleted %s %s", live.GetKind(), live.GetName())
	}
	return nil
}
