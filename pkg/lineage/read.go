package lineage

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// worthList is from how many objects of a kind on one list may be cheaper than
	// a request for each.
	worthList = 5
	// perRequest is how many objects in a list cost as much as one request.
	perRequest = 50
)

// fill reads the status of nodes: whole objects, where they have one.
func (c *Cluster) fill(ctx context.Context, nodes []*Node) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(c.options.Parallel)
	for key, wanted := range c.unread(nodes) {
		k, ok := c.catalog.Kind(key.gk)
		if !ok {
			for _, n := range wanted {
				n.missing("the cluster serves no such kind")
			}
			continue
		}
		if c.listPays(key, len(wanted)) {
			group.Go(func() error { return c.readAll(groupCtx, k, key.namespace, wanted) })
			continue
		}
		for _, n := range wanted {
			group.Go(func() error {
				if c.plain(n) {
					return c.glance(groupCtx, k, n)
				}
				return c.read(groupCtx, k, n)
			})
		}
	}
	return group.Wait()
}

// unread returns the nodes that have to be read, by kind and namespace.
func (c *Cluster) unread(nodes []*Node) map[listKey][]*Node {
	unread := map[listKey][]*Node{}
	seen := map[*Node]bool{}
	for _, n := range nodes {
		if n.full != nil || n.Status == NotFound || seen[n] {
			continue
		}
		seen[n] = true
		if n.UID != "" && c.plain(n) {
			if n.Deleted == nil {
				n.Status = Current
			}
			continue
		}
		key := listKey{n.ID.GroupKind(), n.ID.Namespace}
		unread[key] = append(unread[key], n)
	}
	return unread
}

// plain reports whether objects of a node's kind have no status, so that there is
// nothing to read. Of custom resources only the object itself can tell.
func (c *Cluster) plain(n *Node) bool {
	k, ok := c.catalog.Kind(n.ID.GroupKind())
	builtIn := !strings.Contains(n.ID.Group, ".") || strings.HasSuffix(n.ID.Group, ".k8s.io")
	return ok && builtIn && !k.HasStatus
}

func (c *Cluster) listPays(key listKey, wanted int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	total, known := c.listed[key]
	return known && wanted >= worthList && total <= wanted*perRequest
}

// whole reads a node also where it has no status to tell.
func (c *Cluster) whole(ctx context.Context, n *Node) error {
	k, ok := c.catalog.Kind(n.ID.GroupKind())
	if n.full != nil || !ok {
		return nil
	}
	return c.read(ctx, k, n)
}

// read reads one object.
func (c *Cluster) read(ctx context.Context, k kind, n *Node) error {
	obj, err := c.dynamic.Resource(k.Resource).Namespace(n.ID.Namespace).Get(ctx, n.ID.Name, metav1.GetOptions{})
	if err == nil {
		n.take(obj)
	}
	return unreadable(ctx, n, err)
}

// glance reads whether there is an object, and not what is in it: what is in a
// Secret is no part of any answer.
func (c *Cluster) glance(ctx context.Context, k kind, n *Node) error {
	obj, err := c.metadata.Resource(k.Resource).Namespace(n.ID.Namespace).Get(ctx, n.ID.Name, metav1.GetOptions{})
	if err == nil {
		*n = *newNode(k.GroupKind(), obj)
		if n.Deleted == nil {
			n.Status = Current
		}
	}
	return unreadable(ctx, n, err)
}

// unreadable notes why an object was not read. That it may not be is part of the
// answer.
func unreadable(ctx context.Context, n *Node, err error) error {
	switch {
	case err == nil:
	case apierrors.IsNotFound(err):
		n.missing("there is no such object")
	case apierrors.IsForbidden(err):
		n.Message = "you may not read it"
	case ctx.Err() != nil:
		return fmt.Errorf("read %s: %w", n.ID, err)
	default:
		n.Message = err.Error()
	}
	return nil
}

// readAll reads many objects of a kind at once. Where that fails the status stays
// unknown, and the kind is named among those skipped.
func (c *Cluster) readAll(ctx context.Context, k kind, namespace string, wanted []*Node) error {
	objects, err := c.listFull(ctx, k, namespace)
	if err != nil {
		return c.skip(ctx, k, Skipped{Namespace: namespace}, err)
	}
	byUID := make(map[types.UID]*Node, len(wanted))
	for _, n := range wanted {
		byUID[n.UID] = n
	}
	for _, obj := range objects {
		if n := byUID[obj.GetUID()]; n != nil {
			n.take(obj)
		}
	}
	return nil
}
