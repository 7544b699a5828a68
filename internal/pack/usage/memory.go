package usage

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
)

// memory has the requests that the reconciler has sent for one Usage and that the cache can't
// show yet: a deletion has no resourceVersion to compare. Only the pass of the Usage uses
// memory.
//
// If the operator stops, a request may be sent twice. The UID in the request makes the second
// request harmless.
type memory struct {
	uid types.UID
	// deleted says that the Usage was deleted, finalized that its finalizer was removed.
	deleted, finalized bool
	// replayed is the time of the last replayed record, by the UID of the target. A record has no
	// fractions of seconds: an entry is dropped when the status has no record of the target, so
	// that a second record of the same second is replayed too.
	replayed map[types.UID]metav1.Time
}

// remember notes that a record was replayed: the status may not be written at the first attempt.
func (m *memory) remember(refused *sharedv1alpha1.RefusedDeletion) {
	if m.replayed == nil {
		m.replayed = map[types.UID]metav1.Time{}
	}
	m.replayed[refused.Target.UID] = refused.Time
}

// isReplayed reports whether a record was replayed.
func (m *memory) isReplayed(refused *sharedv1alpha1.RefusedDeletion) bool {
	at, ok := m.replayed[refused.Target.UID]
	return ok && !at.Before(&refused.Time)
}

// prune drops the replays of which the status has no record any more.
func (m *memory) prune(recorded []sharedv1alpha1.RefusedDeletion) {
	maps.DeleteFunc(m.replayed, func(uid types.UID, _ metav1.Time) bool {
		return !slices.ContainsFunc(recorded, func(r sharedv1alpha1.RefusedDeletion) bool { return r.Target.UID == uid })
	})
}

// memoryOf returns the memory of a Usage. A new memory must be stored to be kept: most of ten thousand
// Usages never need a memory.
func (r *reconciler) memoryOf(id object.ID, uid types.UID) *memory {
	if found := r.memories.Get(id); found != nil && found.uid == uid {
		return found
	}
	return &memory{uid: uid}
}
