package watch

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Factory makes informers. [Factory.New] fits cache.Options.NewInformer of controller-runtime.
type Factory struct {
	// Scheme has the Go type of every kind without an [Adapter].
	Scheme *runtime.Scheme
	// Untyped lists and watches a kind as unstructured.Unstructured, in the namespace of the
	// informer. The namespace is empty for an informer of all namespaces. Informers call Untyped
	// only for a kind with an object that could not be decoded.
	Untyped func(gvk schema.GroupVersionKind, namespace string) (cache.ListerWatcherWithContext, error)
	// Health records the failures of LIST and WATCH. Health must not be nil.
	Health *Health
	// Tally bounds the memory of objects. Bounded tells the kinds whose objects the Tally counts. Nil means no bound.
	Tally   *Tally
	Bounded func(schema.GroupKind) bool
}

// New returns a SharedIndexInformer for the kind of example.
func (f *Factory) New(
	lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers,
) cache.SharedIndexInformer {
	s := &source{factory: f, typed: cache.ToListerWatcherWithContext(lw), example: example}
	s.kept.again = make(chan struct{}, 1)
	s.kept.lists.Least = f.Tally.listPause()
	if gvk, err := apiutil.GVKForObject(example, f.Scheme); err == nil {
		s.gvk = gvk
	}
	if _, ok := example.(Adapter); ok {
		s.untyped.from.Store(&s.typed) // A dynamic client lists a runtime.Unstructured.
	}
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: s.list, WatchFuncWithContext: s.watch,
	}, example, resync, indexers)
	s.store = informer.GetStore()
	return sourced{informer, s}
}

// sourced is an informer with its source.
type sourced struct {
	cache.SharedIndexInformer
	source *source
}

// locate sets the namespace of an informer that was made with [NewCache] for one namespace.
func (s sourced) locate(namespace string) { s.source.namespace = namespace }

// fallible reports whether the Go type of a kind may be unable to decode an object that the API
// server stores. PartialObjectMetadata and Unstructured always decode. Kinds of Kubernetes' own
// groups, such as apps and discovery.k8s.io, do too: the API server itself decodes them into
// the same Go types.
func (s *source) fallible() bool {
	switch s.example.(type) {
	case *metav1.PartialObjectMetadata, runtime.Unstructured:
		return false
	}
	own := !strings.Contains(s.gvk.Group, ".") || strings.HasSuffix(s.gvk.Group, ".k8s.io")
	return !own && s.factory.Untyped != nil
}

// drained is a watch.Interface that can be stopped while an event is in its ResultChan. A
// goroutine of [watch.Filter] would otherwise wait for ever for a receiver of the event.
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

// source does LIST and WATCH of one kind for one informer.
type source struct {
	factory   *Factory
	gvk       schema.GroupVersionKind
	namespace string // of the objects; empty for all namespaces
	example   runtime.Object
	typed     cache.ListerWatcherWithContext
	store     cache.Store
	untyped   untyped
	kept      keeping
}

// record records the result of a LIST, or of the start of a WATCH, unless the informer was ended.
func (s *source) record(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.factory.Health.record(s.part(), err)
	}
}

// list implements cache.ListWithContextFunc.
func (s *source) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := s.tryList(ctx, options)
	if err == nil && s.bounded() {
		err = s.fitList(list, options)
	}
	s.record(ctx, err)
	return list, err
}

func (s *source) tryList(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if !s.untyped.used() {
		list, err := s.typed.ListWithContext(ctx, options)
		if !s.fallible() || !isDecodeError(err) {
			return list, err
		}
		if err := s.untyped.use(s); err != nil {
			return nil, err
		}
	}
	return s.listEach(ctx, options)
}

// watch implements cache.WatchFuncWithContext.
func (s *source) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := s.tryWatch(ctx, options)
	s.record(ctx, err)
	if err != nil {
		return nil, err
	}
	w = drained{w}
	if s.bounded() {
		w = s.fitWatch(w, options)
	}
	return w, nil
}

func (s *source) tryWatch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if s.untyped.used() {
		return s.watchEach(ctx, options)
	}
	w, err := s.typed.WatchWithContext(ctx, options)
	if err != nil || !s.fallible() {
		return w, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		if e.Type == watch.Error && isDecodeEvent(e) {
			if err := s.untyped.use(s); err != nil {
				s.factory.Health.record(s.part(), err)
			}
		}
		return e, true
	}), nil
}

// Untyped returns a function for [Factory.Untyped] that uses a dynamic client.
func Untyped(resources Resources) func(schema.GroupVersionKind, string) (cache.ListerWatcherWithContext, error) {
	return func(gvk schema.GroupVersionKind, namespace string) (cache.ListerWatcherWithContext, error) {
		every, err := resources(gvk)
		if err != nil {
			return nil, err
		}
		var resource dynamic.ResourceInterface = every
		if namespace != "" {
			resource = every.Namespace(namespace)
		}
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return resource.List(ctx, options)
			},
			WatchFuncWithContext: resource.Watch,
		}, nil
	}
}

// Resources returns the dynamic client of a kind.
type Resources func(schema.GroupVersionKind) (dynamic.NamespaceableResourceInterface, error)
