package usage

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
)

// replays remembers which deletions were carried out, as the status that still has
// them on record may not be written at the first attempt. What is forgotten when
// the operator ends may be carried out twice; the uid makes that harmless. It is
// safe for concurrent use; the zero value is ready to use.
type replays struct {
	mu sync.Mutex
	at map[object.ID]map[types.UID]time.Time // by Usage and target
}

// did says that a deletion was carried out.
func (r *replays) did(id object.ID, refused *sharedv1alpha1.RefusedDeletion, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil {
		r.at = map[object.ID]map[types.UID]time.Time{}
	}
	if r.at[id] == nil {
		r.at[id] = map[types.UID]time.Time{}
	}
	r.at[id][refused.Target.UID] = now
}

// done reports whether a deletion was carried out since it was refused.
func (r *replays) done(id object.ID, refused *sharedv1alpha1.RefusedDeletion) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.at[id][refused.Target.UID]
	return ok && !refused.Time.After(at)
}

// forget forgets a Usage.
func (r *replays) forget(id object.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.at, id)
}
