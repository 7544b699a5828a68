package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

// remove takes the pack's finalizers off everything. Resources stay in OpenStack.
func remove(ctx context.Context, r pack.Removal) error {
	resources := make([]schema.GroupVersionResource, 1, 1+len(kinds))
	resources[0] = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	for _, k := range kinds {
		resources = append(resources, openstackv1alpha1.GroupVersion.WithResource(plural(k.name)))
	}
	failed := make([]error, 0, len(resources))
	for _, resource := range resources {
		n, err := removeFinalizers(ctx, r, resource)
		switch {
		case n > 0 && resource.Group == "":
			r.Say("took finalizers off %d %s", n, resource.Resource)
		case n > 0:
			r.Say("took finalizers off %d %s; what they stand for stays in OpenStack", n, resource.Resource)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func removeFinalizers(ctx context.Context, r pack.Removal, resource schema.GroupVersionResource) (int, error) {
	list, err := r.Metadata.Resource(resource).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	ours := func(f string) bool { return strings.HasPrefix(f, kit.Group+"/") }
	n := 0
	for i := range list.Items {
		obj := &list.Items[i]
		if !slices.ContainsFunc(obj.Finalizers, ours) {
			continue
		}
		obj.SetGroupVersionKind(schema.GroupVersionKind{})
		before := obj.DeepCopy()
		obj.Finalizers = slices.DeleteFunc(obj.Finalizers, ours)
		patch, err := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}).Data(obj)
		if err != nil {
			return n, fmt.Errorf("take finalizers off %s: %w", obj.Name, err)
		}
		_, err = r.Metadata.Resource(resource).Namespace(obj.Namespace).Patch(
			ctx, obj.Name, "application/merge-patch+json", patch, metav1.PatchOptions{})
		if client.IgnoreNotFound(err) != nil {
			return n, fmt.Errorf("take finalizers off %s: %w", obj.Name, err)
		}
		n++
	}
	return n, nil
}
