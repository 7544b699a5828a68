package apply

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// patience is how long a view may take to show what was written, until it is
// asked for. Usually it takes milliseconds. What is deleted meanwhile is told by Gone.
const patience = 5 * time.Second

// recent remembers what was written until the view shows it.
type recent struct {
	watch.Overlay[written]
}

type written struct {
	Observed

	at time.Time
}

func (r *recent) wrote(id object.ID, o Observed, now time.Time) {
	r.Wrote(id, o.Version, written{o, now})
}

// Gone says that the view has shown the deletion of an object. Without that, an
// Applier believes for five seconds that what it has just written is there, although
// the view does not show it. It is safe for concurrent use.
func (a *Applier) Gone(id object.ID, uid types.UID) {
	a.recent.ForgetIf(id, func(last written) bool { return last.UID == uid })
}

// Unseen reports whether a version of an object is older than the applier's own last
// write of it. How the object stood then, its status above all, is nothing to judge that
// write by. It is safe for concurrent use.
func (a *Applier) Unseen(id object.ID, version string) bool {
	_, unseen := a.recent.Ahead(id, version)
	return unseen
}

// sight is what an object looks like to us.
type sight struct {
	Observed

	exists bool
	// ahead means that we know more than the view, from our own last write.
	ahead bool
	// doubtful means that the view should have shown our own last write by now.
	doubtful bool
}

// look returns the newer of what a view shows and what was written last.
func (r *recent) look(view View, id object.ID, now time.Time) sight {
	var seen Observed
	var exists bool
	last, ahead := r.Look(id, func() string {
		seen, exists = view.Get(id)
		return seen.Version
	})
	switch {
	case !ahead:
		return sight{Observed: seen, exists: exists}
	case now.Sub(last.at) > patience:
		return sight{Observed: seen, exists: exists, doubtful: true}
	default:
		return sight{Observed: last.Observed, exists: true, ahead: true}
	}
}
