package watch

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/locked"
)

// NewCache makes a cache of some namespaces or, without namespaces, of all. [Open] reads the cache
// as if all namespaces had one informer. create makes a cache, as cache.New does.
func NewCache(
	options cache.Options, create func(cache.Options) (cache.Cache, error), namespaces ...string,
) (cache.Cache, error) {
	if len(namespaces) == 0 {
		return create(options)
	}
	options.DefaultNamespaces = map[string]cache.Config{}
	for _, namespace := range namespaces {
		options.DefaultNamespaces[namespace] = cache.Config{Transform: naming(namespace, options.DefaultTransform)}
	}
	c := &namespaced{inner: options.NewInformer}
	if c.inner == nil {
		c.inner = toolscache.NewSharedIndexInformer
	}
	options.NewInformer = c.newInformer
	var err error
	c.Cache, err = create(options)
	return c, err
}

// namespaced is a cache that has an informer of each kind for each namespace.
type namespaced struct {
	cache.Cache

	inner func(
		toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

	// informers are by informerKey.
	informers locked.Map[string, []toolscache.SharedIndexInformer]
}

// informerKey returns the key of an informer within a cache: the Go type of its objects, or the
// kind for untyped objects.
func informerKey(obj runtime.Object) string {
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
		return fmt.Sprintf("%T %s", obj, obj.GetObjectKind().GroupVersionKind())
	default:
		return fmt.Sprintf("%T", obj)
	}
}

func (c *namespaced) newInformer(
	lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	informer := c.inner(lw, example, resync, indexers)
	if placed, ok := informer.(sourced); ok {
		informer = located{placed}
	}
	c.informers.Update(informerKey(example),
		func(all []toolscache.SharedIndexInformer, _ bool) ([]toolscache.SharedIndexInformer, bool) {
			return append(all, informer), true
		})
	return informer
}

// naming returns a transform that also tells the namespace of its informer. controller-runtime calls
// cache.Options.NewInformer without the namespace, and then SetTransform with the transform of the
// namespace.
func naming(namespace string, transform toolscache.TransformFunc) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if question, ok := obj.(*whichNamespace); ok {
			question.answer = namespace
			return obj, nil
		}
		if transform == nil {
			return obj, nil
		}
		return transform(obj)
	}
}

// whichNamespace asks a transform of naming for its namespace.
type whichNamespace struct{ answer string }

// located is an informer that learns its namespace from its transform. An informer of a kind without
// a namespace has another transform, which leaves whichNamespace as it is.
type located struct{ sourced }

// SetTransform implements cache.SharedInformer.
func (l located) SetTransform(transform toolscache.TransformFunc) error {
	var question whichNamespace
	if transform != nil {
		if _, err := transform(&question); err != nil {
			return fmt.Errorf("find the namespace of an informer: %w", err)
		}
	}
	l.locate(question.answer)
	return l.sourced.SetTransform(transform)
}

// combine returns the informers of a kind as one informer with one store. all is the informer
// that the cache has for the kind: it adds handlers to the informers of all namespaces.
func (c *namespaced) combine(all cache.Informer, example client.Object) (toolscache.SharedIndexInformer, error) {
	parts := c.informers.Get(informerKey(example))
	if len(parts) == 0 {
		return nil, fmt.Errorf("no informer was made for %T", example)
	}
	stores := make([]toolscache.Indexer, 0, len(parts))
	for _, part := range parts {
		stores = append(stores, part.GetIndexer())
	}
	return severalInformers{all, one{parts[0]}, severalStores{stores[0], stores}}, nil
}

// severalInformers combines the informers of one kind in several namespaces.
type severalInformers struct {
	cache.Informer
	one

	stores severalStores
}

// one is the informer of the first namespace, for methods that the engine does not call on the
// combination.
type one struct{ toolscache.SharedIndexInformer }

// GetStore implements cache.SharedInformer.
func (s severalInformers) GetStore() toolscache.Store { return s.stores }

// GetIndexer implements cache.SharedIndexInformer.
func (s severalInformers) GetIndexer() toolscache.Indexer { return s.stores }

// severalStores read as one store. Callers MUST NOT write to severalStores.
type severalStores struct {
	toolscache.Indexer // of the first namespace

	all []toolscache.Indexer
}

// List implements cache.Store.
func (s severalStores) List() []any {
	var found []any
	for _, store := range s.all {
		found = append(found, store.List()...)
	}
	return found
}

// ListKeys implements cache.Store.
func (s severalStores) ListKeys() []string {
	var found []string
	for _, store := range s.all {
		found = append(found, store.ListKeys()...)
	}
	return found
}

// Get implements cache.Store.
func (s severalStores) Get(obj any) (item any, exists bool, err error) {
	for _, store := range s.all {
		if item, exists, err = store.Get(obj); exists || err != nil {
			break
		}
	}
	return item, exists, err
}

// GetByKey implements cache.Store.
func (s severalStores) GetByKey(key string) (item any, exists bool, err error) {
	for _, store := range s.all {
		if item, exists, err = store.GetByKey(key); exists || err != nil {
			break
		}
	}
	return item, exists, err
}

// ByIndex implements cache.Indexer.
func (s severalStores) ByIndex(name, value string) ([]any, error) {
	var found []any
	for _, store := range s.all {
		part, err := store.ByIndex(name, value)
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
	}
	return found, nil
}
