package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/config"
	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/rights"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// IsOurs reports whether an object has the label app.kubernetes.io/part-of=kinship.
func IsOurs(obj metav1.Object) bool { return obj.GetLabels()[options.PartOfLabel] == options.PartOf }

// Objects returns the objects that [Install] applies, in order.
func Objects(o options.Options, mutatingPolicies bool) ([]client.Object, error) {
	objects, err := Definitions(o)
	if err != nil {
		return nil, err
	}
	rest, err := ObjectsBesideDefinitions(o, mutatingPolicies)
	if err != nil {
		return nil, err
	}
	return append(objects, rest...), nil
}

// Definitions returns the CustomResourceDefinitions of the chosen packs. definitions parses 800 KiB
// of YAML for all packs, so no caller calls definitions per Enforcement.
func Definitions(o options.Options) ([]client.Object, error) {
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(rights.OwnDefinitions)
	for _, p := range chosen {
		names = append(names, p.Definitions...)
	}
	objects := make([]client.Object, 0, len(names))
	for _, name := range names {
		definition, err := definition(name)
		if err != nil {
			return nil, err
		}
		label(definition)
		if o.Version != "" {
			definition.GetLabels()[VersionLabel] = VersionMark(o.Version)
		}
		objects = append(objects, definition)
	}
	return objects, nil
}

// ObjectsBesideDefinitions returns the objects that [Install] applies after the CustomResourceDefinitions:
// ServiceAccounts, rights, webhooks and policies.
func ObjectsBesideDefinitions(o options.Options, mutatingPolicies bool) ([]client.Object, error) {
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return nil, err
	}
	objects := rights.Objects(chosen, o.Namespaces)
	for _, role := range rights.UserRoles(chosen) {
		objects = append(objects, role)
	}
	for _, p := range chosen {
		objects = append(objects, p.Objects(o.Installation(mutatingPolicies))...)
	}
	for _, obj := range objects {
		label(obj)
	}
	return objects, nil
}

// definitionsOf returns the CustomResourceDefinitions among objects.
func definitionsOf(objects []client.Object) []client.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(obj client.Object) bool {
		_, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
		return !ok
	})
}

// label adds the label app.kubernetes.io/part-of=kinship to an object.
func label(obj client.Object) {
	labels := map[string]string{}
	maps.Copy(labels, obj.GetLabels())
	labels[options.PartOfLabel] = options.PartOf
	obj.SetLabels(labels)
}

// Installer returns a function that creates a deleted guard again, or nil without --install. The
// function acts as the user in Options.Config, because the operator's own ServiceAccounts may not
// create guards.
func Installer(o options.Options) func(context.Context, client.Object) error {
	if !o.Install {
		return nil
	}
	return func(ctx context.Context, obj client.Object) error {
		c, err := options.NewClient(o, o.Config)
		if err != nil {
			return err
		}
		obj = obj.DeepCopyObject().(client.Object)
		label(obj)
		return applyAll(ctx, o, c, []client.Object{obj})
	}
}

// definition reads a generated CustomResourceDefinition from config.Definitions.
func definition(name string) (client.Object, error) {
	plural, group, _ := strings.Cut(name, ".")
	text, err := config.Definitions.ReadFile("crd/" + group + "_" + plural + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("read definition %s: %w", name, err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, fmt.Errorf("read definition %s: %w", name, err)
	}
	return &crd, nil
}

// foreign returns the objects that exist without the label app.kubernetes.io/part-of=kinship.
func foreign(ctx context.Context, c client.Client, objects []client.Object) ([]client.Object, error) {
	var all []client.Object
	for _, obj := range objects {
		if obj.GetNamespace() == options.Namespace || obj.GetName() == options.Namespace {
			continue // An administrator may have made the operator's namespace for the operator.
		}
		live, err := Read(ctx, c, obj)
		if err != nil {
			return nil, err
		}
		if live != nil && !IsOurs(live) {
			all = append(all, obj)
		}
	}
	return all, nil
}

// foreignError returns an error with the names of foreign objects, or nil if objects is empty.
func foreignError(objects []client.Object) error {
	if len(objects) == 0 {
		return nil
	}
	names := make([]string, 0, len(objects))
	for _, obj := range objects {
		kind := reflect.TypeOf(obj).Elem().Name()
		names = append(names, kind+" "+strings.TrimPrefix(client.ObjectKeyFromObject(obj).String(), "/"))
	}
	return fmt.Errorf("%s exist already, and kinship did not install them; remove them, or take them over with --adopt",
		strings.Join(names, ", "))
}

// Read returns an object from the API server, or nil if the object does not exist.
func Read(ctx context.Context, c client.Client, obj client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return nil, fmt.Errorf("identify %s: %w", obj.GetName(), err)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(gvk)
	err = c.Get(ctx, client.ObjectKeyFromObject(obj), live)
	if apierrors.IsNotFound(err) {
		return nil, nil // Absent is an answer here, not a failure.
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	return live, nil
}

// apply applies an object by server-side apply, and keeps the fields that other field managers set.
func apply(ctx context.Context, c client.Client, obj client.Object, options ...writeOption) error {
	u, err := pack.Manifest(c.Scheme(), obj)
	if err != nil {
		return err
	}
	how := []client.ApplyOption{guards.InstallManager, client.ForceOwnership}
	for _, option := range options {
		how = append(how, option)
	}
	err = retry.OnError(retry.DefaultBackoff, isBroken, func() error {
		return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u.DeepCopy()), how...)
	})
	if apierrors.IsInvalid(err) && guards.WebhooksOf(obj) != nil {
		// A webhook has clientConfig.url or clientConfig.service. Server-side apply would leave
		// both after a change to --webhook-host.
		err = replace(ctx, c, u, options)
	}
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", u.GetKind(), obj.GetName(), err)
	}
	return nil
}

// isBroken reports whether a connection broke before the answer was read. Nobody knows whether the API server has
// carried out the request; an apply may be repeated.
func isBroken(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err)
}

// replace updates a whole object, and drops the fields of other field managers.
func replace(ctx context.Context, c client.Client, u *unstructured.Unstructured, options []writeOption) error {
	live := u.DeepCopy()
	if err := c.Get(ctx, client.ObjectKeyFromObject(u), live); err != nil {
		return err
	}
	u.SetResourceVersion(live.GetResourceVersion())
	how := make([]client.UpdateOption, 0, len(options))
	for _, option := range options {
		how = append(how, option)
	}
	return c.Update(ctx, u, how...)
}

// awaitDefinitions waits until each CustomResourceDefinition among objects is Established.
func awaitDefinitions(ctx context.Context, c client.Client, objects []client.Object) error {
	for _, obj := range definitionsOf(objects) {
		if err := watch.AwaitDefinition(ctx, c, obj.GetName(), ""); err != nil {
			return err
		}
	}
	return nil
}

// Installed returns the objects that exist with the label app.kubernetes.io/part-of=kinship.
func Installed(ctx context.Context, c client.Client, objects []client.Object) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, obj := range objects {
		live, err := Read(ctx, c, obj)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if live != nil && live.GetLabels()[options.PartOfLabel] == options.PartOf {
			found = append(found, live)
		}
	}
	return found, nil
}

// ServedVersion returns the name of the first served version of a CustomResourceDefinition.
func ServedVersion(definition *unstructured.Unstructured) (string, bool) {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if served, _ := version["served"].(bool); !ok || !served {
			continue
		}
		name, ok := version["name"].(string)
		return name, ok
	}
	return "", false
}

// PacksBeside returns InstalledPacks among the packs that Options.Packs leaves out.
func PacksBeside(ctx context.Context, o options.Options, c client.Client) ([]string, error) {
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return nil, err
	}
	names := slices.DeleteFunc(options.PackNames(), func(name string) bool {
		return slices.ContainsFunc(chosen, func(p pack.Pack) bool { return p.Name == name })
	})
	return InstalledPacks(ctx, c, names)
}

// InstalledPacks returns the packs whose ClusterRole or ServiceAccount is installed.
func InstalledPacks(ctx context.Context, c client.Client, names []string) (all []string, err error) {
	for _, name := range names {
		own := metav1.ObjectMeta{Name: options.AccountOf(name)}
		role := &rbacv1.ClusterRole{ObjectMeta: own} // Earlier releases had no account of their own.
		own.Namespace = options.Namespace
		there, err := Installed(ctx, c, []client.Object{role, &corev1.ServiceAccount{ObjectMeta: own}})
		if err != nil {
			return nil, err
		}
		if len(there) > 0 {
			all = append(all, name)
		}
	}
	return all, nil
}

// EveryObject returns each object that any [Install] may have applied, once.
func EveryObject(o options.Options) ([]client.Object, error) {
	objects, err := Definitions(o)
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
func everyEnforcement(o options.Options) ([]client.Object, error) {
	var all []client.Object
	o.Namespaces = nil // StaleRoles finds Roles in namespaces.
	for _, enforcement := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		for _, mutating := range []bool{true, false} {
			o.Enforcement = enforcement
			objects, err := ObjectsBesideDefinitions(o, mutating)
			if err != nil {
				return nil, err
			}
			all = append(all, objects...)
		}
	}
	return Without(all, nil), nil
}

// Without returns each object that is not among the known objects, once.
func Without(objects, known []client.Object) []client.Object {
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

// superseded returns the objects of an [Install] with other [options.Options], such as a webhook
// configuration that no operator would answer, or a policy that is now a webhook.
func superseded(
	ctx context.Context, o options.Options, c client.Client, objects []client.Object,
) ([]*unstructured.Unstructured, error) {
	all, err := everyEnforcement(o)
	if err != nil {
		return nil, err
	}
	left, err := Installed(ctx, c, Without(all, objects))
	if err != nil {
		return nil, err
	}
	stale, err := StaleRoles(ctx, o, c, objects)
	return append(stale, left...), err
}

// supersede deletes the superseded objects.
func supersede(ctx context.Context, o options.Options, c client.Client, objects []client.Object) error {
	left, err := superseded(ctx, o, c, objects)
	if err != nil {
		return err
	}
	return DeleteAll(ctx, c, left, func(format string, args ...any) {
		o.Log.Info("Removed what is not needed any more", "what", fmt.Sprintf(format, args...))
	})
}

// DeleteAll deletes objects and waits until the API server has removed each object.
func DeleteAll(
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
