package guards

import (
	"context"
	"fmt"
	"reflect"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
)

// keyOf returns the key of a guard in record.Guards, such as "ValidatingWebhookConfiguration
// kinship-usage".
func keyOf(id object.ID) string { return id.Kind + " " + id.Name }

// Templates returns the guards among pack.Objects, by [object.ID].
func Templates(in pack.Installation, p pack.Pack, c client.Client) (map[object.ID]client.Object, error) {
	templates := map[object.ID]client.Object{}
	all, _ := Split(p.Objects(in))
	for _, obj := range all {
		gvk, err := c.GroupVersionKindFor(obj)
		if err != nil {
			return nil, fmt.Errorf("identify %s: %w", obj.GetName(), err)
		}
		templates[object.Of(obj, gvk.GroupKind())] = obj
	}
	return templates, nil
}

// Read returns a guard from the API server, or nil if the guard does not exist.
func Read(ctx context.Context, c client.Reader, template client.Object) (client.Object, error) {
	live := reflect.New(reflect.TypeOf(template).Elem()).Interface().(client.Object)
	err := c.Get(ctx, client.ObjectKeyFromObject(template), live)
	if apierrors.IsNotFound(err) {
		return nil, nil // Absent is an answer here, not a failure.
	}
	if err != nil {
		return nil, fmt.Errorf("read guard %s: %w", template.GetName(), err)
	}
	return live, nil
}

// Rectify makes a guard as strong as its template. Server-side apply alone would leave fields that
// another writer has added, such as a namespaceSelector that the template does not have.
func Rectify(ctx context.Context, c client.Client, template client.Object) error {
	if guards, _ := Split([]client.Object{template}); len(guards) == 0 {
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := Read(ctx, c, template)
		if err != nil {
			return err
		}
		if live == nil || !pack.Altered(live, template) {
			return nil
		}
		before := live.DeepCopyObject().(client.Object)
		pack.Rectify(live, template)
		err = c.Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), InstallManager)
		if err != nil {
			return fmt.Errorf("rectify %s: %w", template.GetName(), err)
		}
		return nil
	})
}

// InstallManager is the field owner of the objects that an installation applies.
const InstallManager = client.FieldOwner("kinship-install")

// ServesMutatingPolicies reports whether the API server has the kind MutatingAdmissionPolicy
// (KEP-3962; on by default since 1.36).
func ServesMutatingPolicies(o options.Options) (bool, error) {
	disc, err := discovery.NewDiscoveryClientForConfig(o.Config)
	if err != nil {
		return false, fmt.Errorf("make discovery client: %w", err)
	}
	list, err := disc.ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if err != nil {
		return false, fmt.Errorf("read what the API server can do: %w", err)
	}
	for _, r := range list.APIResources {
		if r.Kind == "MutatingAdmissionPolicy" {
			return true, nil
		}
	}
	return false, nil
}

// Split separates webhook configurations and admission policies, which refuse or change requests,
// from all other objects.
func Split(objects []client.Object) (guards, rest []client.Object) {
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
