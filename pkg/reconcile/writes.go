package reconcile

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Writes remembers one's own last write of each object until the cache shows it.
// To decide on a state that one has already changed would mean to write twice,
// or to undo the first write. It is safe for concurrent use; the zero value is
// ready to use.
type Writes struct {
	mu   sync.Mutex
	last map[object.ID]string
}

// Wrote records the resourceVersion that a write of an object resulted in.
func (w *Writes) Wrote(id object.ID, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[object.ID]string{}
	}
	w.last[id] = version
}

// Unseen reports whether the version that a cache shows is older than one's own
// last write. If so, wait: the watch will bring the newer one.
func (w *Writes) Unseen(id object.ID, cached string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.last[id]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached, last)
	if err == nil && order < 0 {
		return true
	}
	delete(w.last, id) // Seen, or versions that can't be compared, where waiting could last for ever.
	return false
}

// Forget drops what is remembered of an object that is gone.
func (w *Writes) Forget(id object.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, id)
}
