package lineage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listTimeout is how long a kind may take. One API server that hangs must not
// keep all others from answering.
const listTimeout = 15 * time.Second

// listKey is what one list covers.
type listKey struct {
	gk        schema.GroupKind
	namespace string // empty means everywhere
}

// list reads the metadata of all objects of kinds, in a namespace or everywhere,
// unless it is known already.
func (c *Cluster) list(ctx context.Context, kinds []kind, namespace string) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(c.options.Parallel)
	for _, k := range kinds {
		if c.covered(k, namespace) {
			continue
		}
		group.Go(func() error { return c.listKind(groupCtx, k, namespace) })
	}
	return group.Wait()
}

// covered reports whether a list was made before.
func (c *Cluster) covered(k kind, namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, everywhere := c.listed[listKey{k.GroupKind(), ""}]
	_, here := c.listed[listKey{k.GroupKind(), namespace}]
	return everywhere || here
}

func (c *Cluster) listKind(ctx context.Context, k kind, namespace string) error {
	var nodes []*Node
	err := c.pages(ctx, func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return c.metadata.Resource(k.Resource).Namespace(namespace).List(ctx, opts)
	}, func(obj runtime.Object) {
		nodes = append(nodes, newNode(k.GroupKind(), obj.(*metav1.PartialObjectMetadata)))
	}, func() { nodes = nil })
	if err != nil {
		return c.skip(ctx, k, Skipped{Namespace: namespace}, err)
	}
	c.note(k, namespace, len(nodes))
	c.register(nodes)
	return nil
}

// listFull reads whole objects of a kind.
func (c *Cluster) listFull(ctx context.Context, k kind, namespace string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := c.pages(ctx, func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return c.dynamic.Resource(k.Resource).Namespace(namespace).List(ctx, opts)
	}, func(obj runtime.Object) {
		objects = append(objects, obj.(*unstructured.Unstructured))
	}, func() { objects = nil })
	return objects, err
}

func (c *Cluster) note(k kind, namespace string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed[listKey{k.GroupKind(), namespace}] = n
}

// skip notes that a kind could not be listed. Only the end of the caller's
// context is an error: everything else costs no more than that kind.
func (c *Cluster) skip(ctx context.Context, k kind, s Skipped, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("list %s: %w", k.Resource.GroupResource(), err)
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return nil // The kind has gone since discovery.
	case apierrors.IsForbidden(err):
		s.Reason = "forbidden"
	case errors.Is(err, context.DeadlineExceeded):
		s.Reason = fmt.Sprintf("no answer within %s", listTimeout)
	default:
		s.Reason = err.Error()
	}
	s.Group, s.Resource = k.Resource.Group, k.Resource.Resource
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped = append(c.skipped, s)
	return nil
}

// pages reads a list page by page. When the list changes too much in between, the
// API server forgets where we were: then it is read anew and in one piece.
func (c *Cluster) pages(
	ctx context.Context, fetch func(context.Context, metav1.ListOptions) (runtime.Object, error),
	each func(runtime.Object), restart func(),
) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	opts := metav1.ListOptions{Limit: c.options.PageSize}
	for {
		page, err := fetch(ctx, opts)
		if apierrors.IsResourceExpired(err) && opts.Continue != "" {
			restart()
			opts = metav1.ListOptions{}
			continue
		}
		if err != nil {
			return err
		}
		err = meta.EachListItem(page, func(obj runtime.Object) error { each(obj); return nil })
		if err != nil {
			return err
		}
		list, err := meta.ListAccessor(page)
		if err != nil {
			return err
		}
		if opts.Continue = list.GetContinue(); opts.Continue == "" {
			return nil
		}
	}
}
