package watch

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is one event of an informer: AddFunc, UpdateFunc or DeleteFunc of
// cache.ResourceEventHandlerFuncs.
type Change[T any] struct {
	// Old is the object before the change, New the object after the change. Old is nil for
	// AddFunc, New is nil for DeleteFunc.
	Old, New T
	// Missed says that the object was deleted while the watch was interrupted
	// (DeletedFinalStateUnknown): Old is the last state that the informer saw, and may not be
	// the final state.
	Missed bool
}

// Object returns [Change.New], or [Change.Old] for a deleted object.
func (c Change[T]) Object() T {
	if c.Deleted() {
		return c.Old
	}
	return c.New
}

// Created reports whether the object was created.
func (c Change[T]) Created() bool { return isZero(c.Old) }

// Deleted reports whether the object was deleted.
func (c Change[T]) Deleted() bool { return isZero(c.New) }

func isZero[T any](v T) bool { return any(v) == nil }

// Handler returns a ResourceEventHandler that calls tell for each [Change]. T must be an
// interface such as client.Object, and every object of the informer must be a T. tell must not
// block: all events of the kind wait for tell.
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

// Store is the SharedIndexInformer of one kind, for callers that read its cache.Store.
type Store struct {
	toolscache.SharedIndexInformer
}

// Open returns the informer of a cache.Cache for the kind of example. The informer starts with
// the cache. Open does not wait for HasSynced.
func Open(ctx context.Context, c cache.Cache, gk schema.GroupKind, example client.Object) (Store, error) {
	informer, err := c.GetInformer(ctx, example, cache.BlockUntilSynced(false))
	if err != nil {
		return Store{}, fmt.Errorf("watch %s: %w", gk, err)
	}
	if parted, ok := c.(*namespaced); ok {
		shared, err := parted.combine(informer, example)
		if err != nil {
			return Store{}, fmt.Errorf("watch %s: %w", gk, err)
		}
		return Store{shared}, nil
	}
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return Store{}, fmt.Errorf("watch %s: the cache hands out a %T", gk, informer)
	}
	return Store{shared}, nil
}

// recount is how often WaitForSync reads which informers a cache has.
const recount = time.Second

// WaitForSync waits until all informers of a cache have synced, and returns false if ctx ended before.
// cache.Cache.WaitForCacheSync does not return if an informer is removed before the informer has synced. For
// example, an administrator deletes a CustomResourceDefinition while the operator starts.
func WaitForSync(ctx context.Context, c cache.Cache) bool {
	for ctx.Err() == nil {
		if waitForSync(ctx, c) {
			return true
		}
	}
	return false
}

func waitForSync(ctx context.Context, c cache.Cache) bool {
	ctx, cancel := context.WithTimeout(ctx, recount)
	defer cancel()
	return c.WaitForCacheSync(ctx)
}

// Listen adds a ResourceEventHandler, and returns an InformerSynced that reports whether the
// handler has seen every object of the first LIST.
func (s Store) Listen(handler toolscache.ResourceEventHandler) (toolscache.InformerSynced, error) {
	registration, err := s.AddEventHandler(handler)
	if err != nil {
		return nil, fmt.Errorf("add event handler: %w", err)
	}
	return registration.HasSynced, nil
}
