package watch

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/throttle"
)

// Tally bounds the memory of the objects that informers keep, so that one namespace can't take the memory of all. An
// object that has no room is left out, and [Health] reports the object: a user with the right to create objects may
// create more of them than the operator has memory for. A Tally may be shared by several [Factory], and is safe for
// concurrent use.
//
// For example, with Namespace=64 MiB, the objects that are read first stay, until they take 64 MiB. The others are read
// again when objects of the namespace are deleted, or become smaller, and a quarter of the room is free.
type Tally struct {
	// Object and Namespace are the most bytes, by [Footprint], of an object and of the objects of a namespace. Zero
	// means no bound.
	Object, Namespace int
	// ListPause is the least time between two lists of one informer that the Tally asks for when there is room again.
	// Zero means [DefaultListPause].
	ListPause time.Duration

	mu         sync.Mutex
	namespaces map[string]*share
}

// share is what the objects of a namespace take.
type share struct {
	bytes int
	// waiting are the sources that left out objects of the namespace, and objects how many objects are kept.
	waiting map[*source]struct{}
	objects int
}

// listPause is Tally.ListPause or its default.
func (t *Tally) listPause() time.Duration {
	if t == nil {
		return DefaultListPause
	}
	return cmp.Or(t.ListPause, DefaultListPause)
}

// Full reports whether the objects of a namespace take more than three quarters of [Tally.Namespace], and how many
// bytes they take. A webhook that refuses new objects from then on keeps informers from leaving out objects.
func (t *Tally) Full(namespace string) (bytes int, full bool) {
	if t == nil || t.Namespace == 0 {
		return 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.namespaces[namespace]
	if kept == nil {
		return 0, false
	}
	return kept.bytes, kept.bytes > t.Namespace-t.Namespace/4
}

// place records that an object of a source takes size bytes instead of before. Without room, place records nothing and
// returns an error that says what to do; the source is told when there is room.
func (t *Tally) place(s *source, namespace string, before, size int) error {
	if t.Object > 0 && size > t.Object && size > before {
		return fmt.Errorf("the object takes %d bytes of memory, and at most %d are kept (--max-object-size of the "+
			"operator): divide the object, or move large texts into ConfigMaps", size, t.Object)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.namespaces == nil {
		t.namespaces = map[string]*share{}
	}
	kept := t.namespaces[namespace]
	if kept == nil {
		kept = &share{}
		t.namespaces[namespace] = kept
	}
	if t.Namespace > 0 && size > before && kept.bytes-before+size > t.Namespace {
		if kept.waiting == nil {
			kept.waiting = map[*source]struct{}{}
		}
		kept.waiting[s] = struct{}{}
		return fmt.Errorf("the objects of namespace %q take %d bytes of memory, and at most %d are kept "+
			"(--max-namespace-size of the operator): delete objects of the namespace", namespace, kept.bytes, t.Namespace)
	}
	t.change(namespace, kept, size-before, before == 0)
	return nil
}

// release records that an object is gone, which took size bytes.
func (t *Tally) release(namespace string, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.namespaces[namespace]
	if kept == nil {
		return
	}
	kept.objects--
	t.change(namespace, kept, -size, false)
}

// change changes the sum of a namespace, and tells the sources that wait for room.
func (t *Tally) change(namespace string, kept *share, by int, isNew bool) {
	kept.bytes += by
	if isNew {
		kept.objects++
	}
	if len(kept.waiting) > 0 && kept.bytes <= t.Namespace-t.Namespace/4 {
		for s := range kept.waiting {
			s.kept.readAgain()
		}
		kept.waiting = nil
	}
	if kept.objects == 0 && kept.waiting == nil {
		delete(t.namespaces, namespace)
	}
}

// keeping is what one informer keeps, by [Tally].
type keeping struct {
	mu    sync.Mutex
	sizes map[types.UID]sized
	// listing has the objects of a streamed list that is not complete, or is nil.
	listing map[types.UID]bool
	// again tells the watch that the objects are to be listed again.
	again chan struct{}
	// lists limits how often that happens.
	lists throttle.Throttle
}

type sized struct {
	namespace string
	bytes     int
}

// DefaultListPause is the least time between two lists that a [Tally] asks for. A new list ends the watch, which all
// namespaces share, and the reflector of client-go begins the next watch after a back-off that doubles with each end,
// up to 30 s, and is reset after two minutes without an end. So a tenant who deletes and creates objects all the time
// delays others by one first back-off, 0.8 s, in three minutes.
const DefaultListPause = 3 * time.Minute

// readAgain asks for a new list, now or as soon as Tally.ListPause has passed since the last one.
func (k *keeping) readAgain() {
	k.lists.Do(func() {
		select {
		case k.again <- struct{}{}:
		default: // The list is asked for already.
		}
	})
}

// put records the size of an object, or returns an error if there is no room.
func (s *source) put(uid types.UID, namespace string, size int) error {
	k := &s.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.listing != nil {
		k.listing[uid] = true
	}
	if err := s.factory.Tally.place(s, namespace, k.sizes[uid].bytes, size); err != nil {
		return err
	}
	if k.sizes == nil {
		k.sizes = map[types.UID]sized{}
	}
	k.sizes[uid] = sized{namespace, size}
	return nil
}

// drop records that an object is gone.
func (s *source) drop(uid types.UID) {
	k := &s.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	s.dropLocked(uid)
}

func (s *source) dropLocked(uid types.UID) {
	if gone, was := s.kept.sizes[uid]; was {
		delete(s.kept.sizes, uid)
		s.factory.Tally.release(gone.namespace, gone.bytes)
	}
}

// beginList and endList enclose the objects of a list: objects that were not in the list are gone.
func (s *source) beginList() {
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	s.kept.listing = map[types.UID]bool{}
}

func (s *source) endList() {
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	for uid := range s.kept.sizes {
		if !s.kept.listing[uid] {
			s.dropLocked(uid)
		}
	}
	s.factory.Health.fitsAll(s.part(), s.kept.listing)
	s.kept.listing = nil
}
