package watch

import (
	"sync"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Overlay holds own writes until a store shows them. To decide on a state that one has already
// changed would mean to write twice, or to undo the first write. T is what the owner wants to
// know of an object that the store does not show yet; struct{} if that is nothing.
//
// An Overlay is safe for concurrent use. The zero value is empty and ready to use.
type Overlay[T any] struct {
	mu   sync.Mutex
	last map[object.ID]write[T]
}

// write is the last own write of an object.
type write[T any] struct {
	version string
	value   T
}

// Wrote records the resourceVersion that a write of an object resulted in.
func (o *Overlay[T]) Wrote(id object.ID, version string, value T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		o.last = map[object.ID]write[T]{}
	}
	o.last[id] = write[T]{version, value}
}

// Ahead returns what was recorded with the last own write of an object, and whether that write is
// newer than the version that a store shows. An empty version means that the store does not show
// the object, and then any write is newer. A write that the store has shown is forgotten.
//
// Ahead is for whoever alone works on the object, such as a reconciler: another goroutine could
// read the store, have the write forgotten, and leave the first with an old version that looks
// new. Look is for the others.
func (o *Overlay[T]) Ahead(id object.ID, shown string) (value T, ahead bool) {
	return o.Look(id, func() string { return shown })
}

// Look is Ahead for several goroutines that work on one object. It reads the store by shown while
// no write can be recorded or forgotten; shown must not block.
func (o *Overlay[T]) Look(id object.ID, shown func() string) (value T, ahead bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	version := shown()
	last, ok := o.last[id]
	switch {
	case !ok:
		return value, false
	case version == "" || object.Older(version, last.version):
		return last.value, true
	}
	delete(o.last, id)
	return value, false
}

// Shows returns what was recorded with the last own write of an object, and whether that write
// resulted in this very version. The write is forgotten then: a store shows it.
func (o *Overlay[T]) Shows(id object.ID, version string) (value T, own bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	last, ok := o.last[id]
	if !ok || last.version != version {
		return value, false
	}
	delete(o.last, id)
	return last.value, true
}

// Forget drops the write of an object that is gone.
func (o *Overlay[T]) Forget(id object.ID) {
	o.ForgetIf(id, func(T) bool { return true })
}

// ForgetIf drops the write of an object if what was recorded with it meets a condition.
func (o *Overlay[T]) ForgetIf(id object.ID, meets func(T) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last, ok := o.last[id]; ok && meets(last.value) {
		delete(o.last, id)
	}
}

// Len returns how many writes are held.
func (o *Overlay[T]) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.last)
}
