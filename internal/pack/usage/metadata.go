package usage

import (
	"context"
	"maps"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
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
