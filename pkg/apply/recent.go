package apply

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// patience is how long Applier.View may take to show an own write, before the API server is asked.
// Usually a cache takes milliseconds. Applier.Gone reports objects that were deleted meanwhile.
const patience = 5 * time.Second

// recent holds own writes until Applier.View shows them.
type recent struct {
	watch.Overlay[written]

	// deleted holds the uid of each object that the Applier deleted, until Applier.View shows the
	// deletion. A deletion can't be taken back, so a View that shows such an object is late.
	deleted sync.Map
}

type written struct {
	Observed

	at time.Time
}

func (r *recent) wrote(id object.ID, o Observed, now time.Time) {
	r.Wrote(id, o.Version, written{o, now})
}

// Gone reports that Applier.View has shown the deletion of an object. Without Gone, an Applier
// assumes for 5 s after a write that the object exists, although Applier.View does not show the
// object. Without Gone, an Applier also keeps the uid of every object that it deleted. Gone is safe
// for concurrent use.
func (a *Applier) Gone(id object.ID, uid types.UID) {
	a.recent.deleted.Delete(uid)
	if a.Rivals != nil {
		a.Rivals.Forget(uid)
	}
	a.recent.ForgetIf(id, func(last written) bool { return last.UID == uid })
}

// Unseen reports whether a resourceVersion of an object is older than the Applier's last write
// of the object. The status of that version describes the state before the write. Unseen is
// safe for concurrent use.
func (a *Applier) Unseen(id object.ID, version string) bool {
	_, unseen := a.recent.Ahead(id, version)
	return unseen
}

// sight is the Observed of an object, from Applier.View, an own write or pass.live.
type sight struct {
	Observed

	exists bool
	// ahead is set if an own write is newer than Applier.View.
	ahead bool
	// doubtful is set if Applier.View should have shown the own write by now.
	doubtful bool
}

// look returns the newer of Applier.View's object and the own last write.
func (a *Applier) look(id object.ID, fieldOwner string) sight {
	var seen Observed
	var exists bool
	last, ahead := a.recent.Look(id, func() string {
		seen, exists = a.View.Get(id, fieldOwner)
		return seen.Version
	})
	if exists && seen.Deleting {
		a.recent.deleted.Delete(seen.UID)
	}
	_, deleted := a.recent.deleted.Load(seen.UID)
	switch {
	case exists && deleted:
		seen.Deleting = true
		return sight{Observed: seen, exists: true, ahead: true}
	case !ahead:
		return sight{Observed: seen, exists: exists}
	case a.now().Sub(last.at) > patience:
		return sight{Observed: seen, exists: exists, doubtful: true}
	default:
		return sight{Observed: last.Observed, exists: true, ahead: true}
	}
}
