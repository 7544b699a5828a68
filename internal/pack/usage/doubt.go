package usage

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
)

// doubt removes the annotation kinship.dev/authority and status.refused from Usages that were
// written after the resource version since. Only the webhook keeps users from writing these two
// fields, and the webhook was missing. A Usage without the annotation needs a ReferenceGrant, or
// has to be written again.
//
// A failure for one Usage does not stop doubt from changing the other Usages. The patches carry
// no resource version, so that a user who writes all the time causes no conflicts.
func doubt(ctx context.Context, c client.Client, since string) error {
	var failed []error
	for _, k := range kinds {
		list, err := listUsages(ctx, c, k)
		if err != nil {
			return err
		}
		for _, u := range list {
			order, err := object.CompareVersions(u.GetResourceVersion(), since)
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
