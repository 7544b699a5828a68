package apply

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinship-dev/kinship/pkg/object"
)

// patience is how long a view may take to show what was written, until it is
// asked for. Usually it takes milliseconds. What is deleted meanwhile is told by Gone.
const patience = 5 * time.Second

// recent remembers what was written until the view shows it. To decide on a state
// that has already been changed would mean to write twice.
type recent struct {
	mu   sync.Mutex
	last map[object.ID]written
}

type written struct {
	Observed

	at time.Time
}

func (r *recent) wrote(id object.ID, o Observed, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[object.ID]written{}
	}
	r.last[id] = written{o, now}
}

// Gone says that the view has shown the deletion of an object. Without that, an
// Applier believes for five seconds that what it has just written is there, although
// the view does not show it. It is safe for concurrent use.
func (a *Applier) Gone(id object.ID, uid types.UID) {
	a.recent.mu.Lock()
	defer a.recent.mu.Unlock()
	if a.recent.last[id].UID == uid {
		delete(a.recent.last, id)
	}
}

// Unseen reports whether a version of an object is older than the applier's own last
// write of it. How the object stood then, its status above all, is nothing to judge that
// write by. It is safe for concurrent use.
func (a *Applier) Unseen(id object.ID, version string) bool {
	a.recent.mu.Lock()
	defer a.recent.mu.Unlock()
	last, ok := a.recent.last[id]
	return ok && older(version, last.Version)
}

func (r *recent) forget(id object.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, id)
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
	seen, exists := view.Get(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.last[id]
	if !ok {
		return sight{Observed: seen, exists: exists}
	}
	if exists && !older(seen.Version, last.Version) {
		delete(r.last, id)
		return sight{Observed: seen, exists: true}
	}
	if now.Sub(last.at) > patience {
		return sight{Observed: seen, exists: exists, doubtful: true}
	}
	return sight{Observed: last.Observed, exists: true, ahead: true}
}

// older reports whether one resourceVersion is older than another. Versions that
// can't be compared are not: to wait for the newer one could last for ever.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
