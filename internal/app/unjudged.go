package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// markUnjudged marks the objects of definitions that were written after the resource version
// since, when no guard judged them. The author is known no more, so an administrator judges.
// A failure for one object does not keep the others from being marked.
func markUnjudged(ctx context.Context, c client.Client, definitions []string, since string) (int, error) {
	marked, failed := 0, []error(nil)
	for _, name := range definitions {
		gvk, err := c.RESTMapper().KindFor(pack.Resource(name).WithVersion(""))
		if err != nil {
			return marked, fmt.Errorf("find the kind of %s: %w", name, err)
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := c.List(ctx, list); err != nil {
			return marked, fmt.Errorf("list %s: %w", name, err)
		}
		for i := range list.Items {
			obj := &list.Items[i]
			order, err := object.CompareVersions(obj.ResourceVersion, since)
			if err != nil {
				return marked, fmt.Errorf("compare the version of %s %s/%s: %w", gvk.Kind, obj.Namespace, obj.Name, err)
			}
			if order <= 0 || reconcile.IsUnjudged(obj) {
				continue
			}
			obj.SetGroupVersionKind(gvk)
			if err := markOne(ctx, c, obj); client.IgnoreNotFound(err) != nil {
				failed = append(failed, fmt.Errorf("mark %s %s/%s as unjudged: %w", gvk.Kind, obj.Namespace, obj.Name, err))
				continue
			}
			marked++
		}
	}
	return marked, errors.Join(failed...)
}

func markOne(ctx context.Context, c client.Client, obj *metav1.PartialObjectMetadata) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		reconcile.UnjudgedAnnotation: time.Now().UTC().Format(time.RFC3339),
	}}})
	if err != nil {
		return err
	}
	return c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
}
