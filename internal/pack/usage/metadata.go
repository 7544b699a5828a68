package usage

import (
	"context"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// writeMetadata writes the decisions of the steps before it in one request: the finalizer, the
// owner reference, resourceRef of a resolved selector, and the details annotation. The webhook sets
// most of them on creation, so there is usually nothing to write.
//
// writeMetadata writes while the Usage waits for its using object, too: an owner reference to a
// former object would have the garbage collector delete the Usage.
func (r *reconciler) writeMetadata(ctx context.Context, p *pass) reconcile.Outcome {
	controllerutil.AddFinalizer(p.usage, finalizer)
	annotate(p.usage, detailsAnnotation, describe(p.usage))
	return r.writeObject(ctx, p).And(p.waitsForUsing)
}

// annotate sets an annotation. An empty value removes it. The map of the annotations is replaced:
// Usages in the cache share theirs (shareStrings).
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

// writeObject writes metadata and spec where they differ from p.seen. writeObject keeps the status
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
