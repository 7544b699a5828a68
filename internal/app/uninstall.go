package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Uninstall removes everything that Install applied, and every trace that the
// packs left on other objects. First what refuses and restores, then the traces,
// then definitions and rights: at no time is there something left that only the
// operator could undo. What other packs need that are installed stays. say reports
// progress to a person.
func Uninstall(ctx context.Context, o Options, say func(format string, args ...any)) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	c, err := newClient(o, o.Config)
	if err != nil {
		return err
	}
	objects, err := everyObject(o)
	if err != nil {
		return err
	}
	beside, err := installedBeside(ctx, o, c)
	if err != nil {
		return err
	}
	if len(beside) > 0 {
		needed, err := everyObject(o.with(beside))
		if err != nil {
			return err
		}
		objects = others(objects, needed)
		say("leaving what the packs need that stay: %s", strings.Join(beside, ", "))
	}
	guards, rest := split(objects)
	if err := removeAll(ctx, c, guards, say); err != nil {
		return err
	}
	if err := removeTraces(ctx, o, c, say); err != nil {
		return err
	}
	slices.Reverse(rest) // Rights and account before definitions.
	return removeAll(ctx, c, rest, say)
}

// installedBeside returns the packs that are installed and not chosen, by their rights.
func installedBeside(ctx context.Context, o Options, c client.Client) ([]string, error) {
	chosen, err := choose(o)
	if err != nil {
		return nil, err
	}
	var beside []string
	for _, name := range PackNames() {
		if slices.ContainsFunc(chosen, func(p pack.Pack) bool { return p.Name == name }) {
			continue
		}
		role, err := read(ctx, c, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: roleOf(name)}})
		if err != nil {
			return nil, err
		}
		if role != nil && role.GetLabels()[partOfLabel] == partOf {
			beside = append(beside, name)
		}
	}
	return beside, nil
}

// with returns the options for other packs.
func (o Options) with(packs []string) Options {
	o.Packs = packs
	return o
}

// everyObject returns what any installation may have applied, each once.
func everyObject(o Options) ([]client.Object, error) {
	var all []client.Object
	for _, enforcement := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		for _, mutating := range []bool{true, false} {
			o.Enforcement = enforcement
			objects, err := Objects(o, mutating)
			if err != nil {
				return nil, err
			}
			all = append(all, objects...)
		}
	}
	return others(all, nil), nil
}

// others returns the objects that are not among the known ones, each once.
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

// supersede removes what an installation with other options has left: the webhook
// would refuse in the name of nobody, the policy in the place of the webhook.
func supersede(ctx context.Context, o Options, c client.Client, objects []client.Object) error {
	all, err := everyObject(o)
	if err != nil {
		return err
	}
	return removeAll(ctx, c, others(all, objects), func(format string, args ...any) {
		o.Log.Info("Removed what is not needed any more", "what", fmt.Sprintf(format, args...))
	})
}

// split sets apart the objects that refuse or change requests.
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

func removeTraces(ctx context.Context, o Options, c client.Client, say func(string, ...any)) error {
	chosen, err := choose(o)
	if err != nil {
		return err
	}
	watcher, err := relation.NewWatcher(o.Config, o.Log)
	if err != nil {
		return err
	}
	defer watcher.Close()
	if err := watcher.Refresh(ctx); err != nil {
		return err
	}
	objects, err := metadata.NewForConfig(o.Config)
	if err != nil {
		return fmt.Errorf("make metadata client: %w", err)
	}
	var failed []error
	for _, p := range chosen {
		err := p.Remove(ctx, pack.Removal{Live: c, Metadata: objects, Watcher: watcher, Say: say})
		if err != nil {
			failed = append(failed, fmt.Errorf("pack %s: %w", p.Name, err))
		}
	}
	return errors.Join(failed...)
}

// removeAll deletes objects that are ours and waits until they are gone.
func removeAll(ctx context.Context, c client.Client, objects []client.Object, say func(string, ...any)) error {
	for _, obj := range objects {
		live, err := read(ctx, c, obj)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return err
		}
		if live == nil || live.GetLabels()[partOfLabel] != partOf {
			continue
		}
		if err := c.Delete(ctx, live); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s %s: %w", live.GetKind(), live.GetName(), err)
		}
		err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true,
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
