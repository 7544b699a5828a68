package reconcile

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Writes records a reconciler's last write of each object until the cache shows the write
// ([watch.Overlay]). Writes is safe for concurrent use; the zero value is ready to use.
type Writes struct {
	// overlay has the resourceVersion that a write was based on, for writes with [Writes.WroteOn].
	overlay watch.Overlay[string]
}

// Wrote records the resourceVersion that the API server returned for a write.
func (w *Writes) Wrote(id object.ID, version string) { w.overlay.Wrote(id, version, "") }

// WroteOn is [Writes.Wrote] for a write that the API server accepted only because the object
// still had the resourceVersion base.
func (w *Writes) WroteOn(id object.ID, base, version string) { w.overlay.Wrote(id, version, base) }

// Unseen reports whether the metadata.resourceVersion of the cache is older than the last own
// write. If so, wait: the watch will bring the newer resourceVersion.
func (w *Writes) Unseen(id object.ID, cached string) bool {
	_, unseen := w.overlay.Ahead(id, cached)
	return unseen
}

// Concerns reports whether an event needs a pass, and is the only filter for own writes. An
// event needs no pass if it shows an own write and nothing else, or if only status has changed
// (metadata.generation is the same): only the operator writes statuses. before is nil for a
// created object, now for a deleted object.
func (w *Writes) Concerns(id object.ID, before, now metav1.Object) bool {
	if before == nil || now == nil || before.GetUID() != now.GetUID() {
		return true
	}
	if base, own := w.overlay.Shows(id, now.GetResourceVersion()); own && base == before.GetResourceVersion() {
		return false
	}
	return before.GetGeneration() != now.GetGeneration() ||
		(before.GetDeletionTimestamp() == nil) != (now.GetDeletionTimestamp() == nil) ||
		!slices.Equal(before.GetFinalizers(), now.GetFinalizers()) ||
		!maps.Equal(before.GetLabels(), now.GetLabels()) ||
		!maps.Equal(before.GetAnnotations(), now.GetAnnotations()) ||
		!slices.EqualFunc(before.GetOwnerReferences(), now.GetOwnerReferences(), sameOwner)
}

func sameOwner(a, b metav1.OwnerReference) bool {
	controls := func(o metav1.OwnerReference) bool { return o.Controller != nil && *o.Controller }
	return a.UID == b.UID && controls(a) == controls(b)
}

// Forget drops the record of a deleted object.
func (w *Writes) Forget(id object.ID) { w.overlay.Forget(id) }
