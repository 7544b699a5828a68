package app

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// newInformer makes the informers of the manager's cache, which leave no goroutine
// behind when they end.
func newInformer(
	lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	from := cache.ToListerWatcherWithContext(lw)
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: from.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := from.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return drained{w}, nil
		},
	}, example, resync, indexers)
}

// drained is a watch that can be stopped while an event is on its way. That of
// objects' metadata passes through [watch.Filter], which else waits for ever for
// somebody to take the event.
type drained struct {
	watch.Interface
}

// Stop implements watch.Interface.
func (d drained) Stop() {
	d.Interface.Stop()
	go func() {
		for range d.ResultChan() {
			continue
		}
	}()
}
