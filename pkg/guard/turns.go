package guard

import (
	"hash/maphash"
	"sync"

	"github.com/kinship-dev/kinship/pkg/object"
)

// turns lets one goroutine at a time write to an object. Two objects rarely share a mutex, and
// then wait for each other. The zero value is ready to use.
type turns struct {
	mutexes [256]sync.Mutex
}

// seed is the hash seed for the choice of a mutex in turns.
var seed = maphash.MakeSeed()

// take waits until no other goroutine has the turn of an object. The caller calls done after its
// write.
func (t *turns) take(id object.ID) (done func()) {
	mutex := &t.mutexes[maphash.Comparable(seed, id)%uint64(len(t.mutexes))]
	mutex.Lock()
	return mutex.Unlock
}
