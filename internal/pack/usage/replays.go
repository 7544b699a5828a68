package usage

import (
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
)

// replays remembers which deletions were carried out, as the status that still has
// them on record may not be written at the first attempt. What is forgotten when
// the operator ends may be carried out twice; the uid makes that harmless. It is
// safe for concurrent use; the zero value is ready to use.
//
// A record is known by its time, which has no fractions. So it is forgotten as soon as
// the status has it no more: another one of the same second is not the same.
type replays struct {
	mu      sync.Mutex
	refused map[object.ID]map[types.UID]metav1.Time // by Usage and target
}

// did says that a deletion was carried out.
func (r *replays) did(id object.ID, refused *sharedv1alpha1.RefusedDeletion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused == nil {
		r.refused = map[object.ID]map[types.UID]metav1.Time{}
	}
	if r.refused[id] == nil {
		r.refused[id] = map[types.UID]metav1.Time{}
	}
	r.refused[id][refused.Target.UID] = refused.Time
}

// done reports whether a deletion was carried out since it was refused.
func (r *replays) done(id object.ID, refused *sharedv1alpha1.RefusedDeletion) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.refused[id][refused.Target.UID]
	return ok && !at.Before(&refused.Time)
}

// keep forgets whatever a Usage does not have on record any more.
func (r *replays) keep(id object.ID, recorded []sharedv1alpha1.RefusedDeletion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.refused[id], func(uid types.UID, _ metav1.Time) bool {
		return !slices.ContainsFunc(recorded, func(one sharedv1alpha1.RefusedDeletion) bool { return one.Target.UID == uid })
	})
}

// forget forgets a Usage.
func (r *replays) forget(id object.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.refused, id)
}
