package usage

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// doubt takes off Usages that were written since a resource version what is believed
// because the webhook judged it: the mark of authority, and records of refused deletions.
// While the webhook was missing, anybody could write both. A Usage that loses its mark needs
// a ReferenceGrant, or to be written again.
func doubt(ctx context.Context, c client.Client, since string) error {
	for _, k := range kinds {
		list, err := listUsages(ctx, c, k)
		if err != nil {
			return err
		}
		for _, u := range list {
			order, err := resourceversion.CompareResourceVersion(u.GetResourceVersion(), since)
			if err != nil {
				return fmt.Errorf("compare the version of %s: %w", identify(u), err)
			}
			if order <= 0 {
				continue
			}
			if err := disbelieve(ctx, c, u); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("take what nobody judged off %s: %w", identify(u), err)
			}
		}
	}
	return nil
}

// disbelieve takes the mark and the records off one Usage.
func disbelieve(ctx context.Context, c client.Client, u usage) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		before := u.DeepCopyObject().(usage)
		if len(u.UsageStatus().Refused) > 0 {
			u.UsageStatus().Refused = nil
			patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
			if err := c.Status().Patch(ctx, u, patch); err != nil {
				return err
			}
			before = u.DeepCopyObject().(usage)
		}
		annotations := u.GetAnnotations()
		if _, marked := annotations[authorityAnnotation]; !marked {
			return nil
		}
		delete(annotations, authorityAnnotation)
		u.SetAnnotations(annotations)
		return c.Patch(ctx, u, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}
