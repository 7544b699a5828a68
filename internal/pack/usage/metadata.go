package usage

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// writeMetadata writes the decisions of the former steps in one request: the finalizer, the
// ownerReference, resourceRef of a resolved selector, and the details annotation. The webhook
// sets most of them on creation, so there is usually nothing to write.
//
// writeMetadata writes while the Usage waits for its using object, too: the garbage collector
// would delete the Usage for an ownerReference to a former object.
func (r *reconciler) writeMetadata(ctx context.Context, p *pass) reconcile.Outcome {
	finalizer.Add(p.usage)
	annotate(p.usage, detailsAnnotation, describe(p.usage))
	return r.writeObject(ctx, p).And(p.waitsForUsing)
}

// annotate sets an annotation. An empty value removes the annotation. annotate replaces the map
// of the annotations: Usages in the cache share their maps (shareStrings).
func annotate(u usage, key, value string) {
	annotations := maps.Clone(u.GetAnnotations())
	switch {
	case value == "":
		delete(annotations, key)
	case annotations == nil:
		annotations = map[string]string{key: value}
	default:
		annotations[key] = value
	}
	u.SetAnnotations(annotations)
}

// writeObject writes metadata and spec if they differ from p.seen. writeObject keeps the status
// that the steps have decided.
func (r *reconciler) writeObject(ctx context.Context, p *pass) reconcile.Outcome {
	wrote, err := r.writer.Object(ctx, p.id, p.seen, p.usage)
	if wrote {
		seen := p.DeepCopyObject().(usage)
		*seen.UsageStatus() = *p.seen.UsageStatus()
		p.seen = seen
	}
	return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
}

// dropUnverified is the first step: dropUnverified removes annotation kinship.dev/authority and
// status.refused if no webhook keeps users from writing them (--enforcement=policy). After a
// change of --enforcement, the operator would trust both.
func (r *reconciler) dropUnverified(ctx context.Context, p *pass) reconcile.Outcome {
	if r.ledger.admission {
		return reconcile.Outcome{}
	}
	p.UsageStatus().Refused = nil
	annotate(p.usage, authorityAnnotation, "")
	return r.writeObject(ctx, p)
}

// removeUnverified removes annotation kinship.dev/authority and status.refused from Usages with
// a resourceVersion after since: a user could write both while the webhook was missing. A Usage
// without the annotation needs a ReferenceGrant, or must be written again.
//
// A failure for one Usage does not stop removeUnverified from changing the others.
func removeUnverified(ctx context.Context, c client.Client, since string) error {
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
			if err := removeUnverifiedFrom(ctx, c, u); client.IgnoreNotFound(err) != nil {
				failed = append(failed, fmt.Errorf("remove unverified fields of %s: %w", identify(u), err))
			}
		}
	}
	return errors.Join(failed...)
}

// removeUnverifiedFrom changes one Usage. The writes have no resourceVersion, so that a user
// who writes all the time causes no conflicts.
func removeUnverifiedFrom(ctx context.Context, c client.Client, u usage) error {
	writer := reconcile.Writer{Client: c, FieldOwner: fieldOwner, Writes: &reconcile.Writes{}}
	after := u.DeepCopyObject().(usage)
	after.UsageStatus().Refused = nil
	if _, err := writer.Status(ctx, identify(u), u, after, false); err != nil {
		return err
	}
	if _, marked := u.GetAnnotations()[authorityAnnotation]; !marked {
		return nil
	}
	return c.Patch(ctx, u, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+authorityAnnotation+`":null}}}`)))
}
