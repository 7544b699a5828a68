package watch

import (
	"github.com/kinship-dev/kinship/pkg/locked"
	"github.com/kinship-dev/kinship/pkg/object"
)

// Overlay keeps own writes until a store shows them. A decision on a state that is older than
// the last own write would repeat or undo the write. T is the data that the caller needs about
// a written object, such as metadata.finalizers; struct{} if there is none.
//
// An Overlay is safe for concurrent use. The zero value is empty and ready to use.
type Overlay[T any] struct {
	last locked.Map[object.ID, write[T]]
}

// write is the last own write of an object.
type write[T any] struct {
	version string
	value   T
}

// Wrote records an own write: the resourceVersion in the answer of the API server, and a value
// for [Overlay.Ahead], [Overlay.Look] and [Overlay.Shows].
func (o *Overlay[T]) Wrote(id object.ID, version string, value T) {
	o.last.Store(id, write[T]{version, value})
}

// Ahead returns the value of the last own write of an object, and whether this write is newer
// than the metadata.resourceVersion that a store shows. An empty resourceVersion means that the
// store does not have the object; then any write is newer. Ahead drops a write that the store
// has shown.
//
// Ahead is for a caller that alone works on the object, such as a reconciler. With two
// goroutines, the second may read a newer object and drop the write, and then the first takes
// its own older object for a new one. Several goroutines must call [Overlay.Look].
func (o *Overlay[T]) Ahead(id object.ID, shown string) (value T, ahead bool) {
	return o.Look(id, func() string { return shown })
}

// Look is [Overlay.Ahead] for several goroutines that work on one object. Look calls shown,
// which returns the resourceVersion of the store, while no other call can record or drop a
// write. shown must not block.
func (o *Overlay[T]) Look(id object.ID, shown func() string) (value T, ahead bool) {
	o.last.Update(id, func(last write[T], known bool) (write[T], bool) {
		version := shown()
		ahead = known && (version == "" || object.Older(version, last.version))
		if ahead {
			value = last.value
		}
		return last, ahead
	})
	return value, ahead
}

// Shows returns the value of the last own write of an object, and whether this write resulted
// in exactly this resourceVersion. If so, Shows drops the write: a store shows the write now.
func (o *Overlay[T]) Shows(id object.ID, version string) (value T, own bool) {
	o.last.Update(id, func(last write[T], known bool) (write[T], bool) {
		own = known && last.version == version
		if own {
			value = last.value
		}
		return last, known && !own
	})
	return value, own
}

// Forget drops the write of a deleted object.
func (o *Overlay[T]) Forget(id object.ID) {
	o.ForgetIf(id, func(T) bool { return true })
}

// ForgetIf drops the write of an object if meets returns true for the value of the write.
func (o *Overlay[T]) ForgetIf(id object.ID, meets func(T) bool) {
	o.last.Update(id, func(last write[T], known bool) (write[T], bool) { return last, known && !meets(last.value) })
}

// Len returns the number of writes in memory.
func (o *Overlay[T]) Len() int {
	return o.last.Len()
}
