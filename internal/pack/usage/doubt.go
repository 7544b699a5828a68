package usage

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// doubt takes off Usages that were written since a resource version what is believed
// because the webhook judged it: the mark of authority, and records of refused deletions.
// While the webhook was missing, anybody could write both. A Usage that loses its mark needs
// a ReferenceGrant, or to be written again.
//
// A Usage that can't be changed keeps no other from being judged. Requests carry no version,
// so that somebody who writes all the time causes no conflicts.
func doubt(ctx context.Context, c client.Client, since string) error {
	var failed []error
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
				failed = append(failed, fmt.Errorf("take what nobody judged off %s: %w", identify(u), err))
			}
		}
	}
	return errors.Join(failed...)
}

// disbelieve takes the mark and the records off one Usage.
func disbelieve(ctx context.Context, c client.Client, u usage) error {
	remove := func(what string) client.Patch {
		return client.RawPatch(types.MergePatchType, []byte(what))
	}
	if len(u.UsageStatus().Refused) > 0 {
		if err := c.Status().Patch(ctx, u, remove(`{"status":{"refused":null}}`)); err != nil {
			return err
		}
	}
	if _, marked := u.GetAnnotations()[authorityAnnotation]; !marked {
		return nil
	}
	return c.Patch(ctx, u, remove(`{"metadata":{"annotations":{"`+authorityAnnotation+`":null}}}`))
}
