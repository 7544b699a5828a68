package watch

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is one change of an object, as an informer tells it.
type Change[T any] struct {
	// Old is the object before, and New the object now. Of an object that came, there is no Old;
	// of one that went, no New: the zero value stands in its place.
	Old, New T
	// Missed says that the object went while the watch was cut off: Old is how it was last seen,
	// which need not be how it ended.
	Missed bool
}

// Object returns the newest state of the object.
func (c Change[T]) Object() T {
	if c.Went() {
		return c.Old
	}
	return c.New
}

// Came reports whether the object was not there before.
func (c Change[T]) Came() bool { return isZero(c.Old) }

// Went reports whether the object is not there any more.
func (c Change[T]) Went() bool { return isZero(c.New) }

func isZero[T any](v T) bool { return any(v) == nil }

// Handler returns a handler that passes on each change. Every object of the informer must be a T,
// which is an interface such as client.Object. tell must not block: it holds up all changes of
// the kind.
func Handler[T any](tell func(Change[T])) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { tell(Change[T]{New: obj.(T)}) },
		UpdateFunc: func(old, obj any) { tell(Change[T]{Old: old.(T), New: obj.(T)}) },
		DeleteFunc: func(obj any) {
			tombstone, missed := obj.(toolscache.DeletedFinalStateUnknown)
			if missed {
				obj = tombstone.Obj
			}
			tell(Change[T]{Old: obj.(T), Missed: missed})
		},
	}
}

// Store is the informer of one kind, as those see it who read it.
type Store struct {
	toolscache.SharedIndexInformer
}

// Open returns the informer that a cache has for the kind of an example, and starts it with the
// cache. It does not wait for the kind to be listed.
func Open(ctx context.Context, c cache.Cache, gk schema.GroupKind, example client.Object) (Store, error) {
	informer, err := c.GetInformer(ctx, example, cache.BlockUntilSynced(false))
	if err != nil {
		return Store{}, fmt.Errorf("watch %s: %w", gk, err)
	}
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return Store{}, fmt.Errorf("watch %s: the cache hands out a %T", gk, informer)
	}
	return Store{shared}, nil
}

// Listen adds a handler, and returns a function that reports whether the handler was told of
// every object that was there at first.
func (s Store) Listen(handler toolscache.ResourceEventHandler) (toolscache.InformerSynced, error) {
	registration, err := s.AddEventHandler(handler)
	if err != nil {
		return nil, fmt.Errorf("add event handler: %w", err)
	}
	return registration.HasSynced, nil
}
