package lineage

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"

	"github.com/kinship-dev/kinship/pkg/lists"
)

// listTimeout limits the list of one kind, so that an aggregated API server that hangs
// delays an answer by no more than listTimeout.
const listTimeout = 15 * time.Second

// listKey is the scope of a list.
type listKey struct {
	gk        schema.GroupKind
	namespace string // empty for all namespaces
}

// list reads the metadata of all objects of kinds, in a namespace or everywhere. A kind
// that was listed before is not listed again.
func (c *Cluster) list(ctx context.Context, kinds []kind, namespace string) {
	var unlisted []kind
	for _, k := range kinds {
		_, everywhere := c.listed[listKey{k.GroupKind(), ""}]
		_, here := c.listed[listKey{k.GroupKind(), namespace}]
		if !everywhere && !here {
			unlisted = append(unlisted, k)
		}
	}
	inParallel(unlisted, func(k kind) {
		items, err := c.listPages(ctx, func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return c.metadata.Resource(k.Resource).Namespace(namespace).List(ctx, opts)
		})
		if err != nil {
			c.skip(k, Skipped{Namespace: namespace}, err)
			return
		}
		nodes := lists.Map(items, func(item runtime.Object) *Node {
			return newNode(k.GroupKind(), item.(*metav1.PartialObjectMetadata))
		})
		c.noteListed(k, namespace, len(nodes))
		c.register(nodes...)
	})
}

// listObjects reads the whole objects of one kind.
func (c *Cluster) listObjects(ctx context.Context, k kind, namespace string) ([]*unstructured.Unstructured, error) {
	items, err := c.listPages(ctx, func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return c.dynamic.Resource(k.Resource).Namespace(namespace).List(ctx, opts)
	})
	whole := func(item runtime.Object) *unstructured.Unstructured { return item.(*unstructured.Unstructured) }
	return lists.Map(items, whole), err
}

// listPages reads a list in pages of Options.PageSize. If a continue token has expired,
// listPages reads the list again in one piece.
func (c *Cluster) listPages(ctx context.Context, fetch pager.ListPageFunc) ([]runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	pages := pager.ListPager{PageSize: c.options.PageSize, PageFn: fetch, FullListIfExpired: true}
	list, _, err := pages.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return meta.ExtractList(list)
}

// noteListed records how many objects the list of a kind has.
func (c *Cluster) noteListed(k kind, namespace string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed[listKey{k.GroupKind(), namespace}] = n
}
