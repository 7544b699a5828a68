package reconcile

import (
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Writes remembers one's own last write of each object until the cache shows it: a
// [watch.Overlay] of versions alone. It is safe for concurrent use; the zero value is ready to
// use.
type Writes struct {
	overlay watch.Overlay[struct{}]
}

// Wrote records the resourceVersion that a write of an object resulted in.
func (w *Writes) Wrote(id object.ID, version string) { w.overlay.Wrote(id, version, struct{}{}) }

// Unseen reports whether the version that a cache shows is older than one's own
// last write. If so, wait: the watch will bring the newer one.
func (w *Writes) Unseen(id object.ID, cached string) bool {
	_, unseen := w.overlay.Ahead(id, cached)
	return unseen
}

// Forget drops what is remembered of an object that is gone.
func (w *Writes) Forget(id object.ID) { w.overlay.Forget(id) }
