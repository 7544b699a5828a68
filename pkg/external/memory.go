package external

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// memories are what is known of objects and lost at a restart.
type memories struct {
	mu  sync.Mutex
	all map[types.UID]*memory
}

// memory is only touched by the one worker that has the object.
type memory struct {
	// tried is the fingerprint of the references in the last pass, or unsettled.
	tried string
	// refused says that the last Create was answered with a refusal: nothing was created.
	refused bool
	// repeated says that Create was called again after a refusal because of a resource that was
	// gone a moment later.
	repeated bool
	// began is the intent that was recorded last, and sent says that Create was called since the
	// operator started.
	began *intent
	sent  bool
	// native says that an operator has put its finalizer on this very object.
	native bool
	// until is when a Create that got no answer is over.
	until time.Time
	// next is when the resource is to be compared with the spec again.
	next time.Time
	// polls are the looks at something under way.
	polls polls
	// named are the holders that the status names. nil means none.
	named *heldBy
	// busy is why the resource could not be deleted yet.
	busy refusal
	// deleting says that a deletion was accepted.
	deleting bool
	// left is the version of the object without the operator's finalizer.
	left string
}

// heldBy are objects that hold another one, by their finalizer.
type heldBy map[string]object.ID

// isOver reports whether the operator's finalizer was taken off a version of the object, or off a
// later one.
func (m *memory) isOver(version string) bool {
	return version == m.left || object.Older(version, m.left)
}

func (m *memories) of(uid types.UID) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[types.UID]*memory{}
	}
	if m.all[uid] == nil {
		m.all[uid] = &memory{}
	}
	return m.all[uid]
}

func (m *memories) drop(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, uid)
}
