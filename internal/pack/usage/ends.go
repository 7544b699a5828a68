package usage

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// ends remembers the last request for the end of a Usage, until a watch shows the Usage as
// gone. A deletion has no version that would tell a late watch event from a new state. ends
// is safe for concurrent use. The zero value is ready to use.
type ends struct {
	mu  sync.Mutex
	all map[object.ID]asked
}

// asked is what was done of the Usage with a uid.
type asked struct {
	uid   types.UID
	freed bool // its finalizer is off, else it was deleted
}

// deleted says that a Usage was deleted.
func (e *ends) deleted(id object.ID, uid types.UID) { e.put(id, asked{uid, false}) }

// freed says that the finalizer was taken off a deleted Usage.
func (e *ends) freed(id object.ID, uid types.UID) { e.put(id, asked{uid, true}) }

func (e *ends) put(id object.ID, one asked) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[object.ID]asked{}
	}
	e.all[id] = one
}

// isDeleted reports whether a Usage was deleted here.
func (e *ends) isDeleted(id object.ID, uid types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all[id].uid == uid
}

// isFreed reports whether the finalizer was taken off a Usage here.
func (e *ends) isFreed(id object.ID, uid types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all[id] == asked{uid, true}
}

// forget drops what is remembered of a Usage that is gone.
func (e *ends) forget(id object.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.all, id)
}
