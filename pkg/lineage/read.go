package lineage

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// minForList is how many objects of a kind have to be wanted before readStatus lists
	// the kind instead of 1 GET request for each object.
	minForList = 5
	// listedPerGet is how many objects in a list cost as much as 1 GET request.
	listedPerGet = 50
)

// readStatus reads the status of nodes: whole objects of kinds with a status, and only
// the metadata of other kinds.
func (c *Cluster) readStatus(ctx context.Context, nodes ...*Node) {
	var requests []func()
	for key, wanted := range c.unread(nodes) {
		k, ok := c.catalog.Kind(key.gk)
		switch {
		case !ok:
			for _, n := range wanted {
				n.setMissing("the cluster serves no such kind")
				n.unserved = true
			}
		case c.isListCheaper(key, len(wanted)):
			requests = append(requests, func() { c.readList(ctx, k, key.namespace, wanted) })
		default:
			for _, n := range wanted {
				requests = append(requests, func() { c.readOne(ctx, k, n, c.hasNoStatus(n)) })
			}
		}
	}
	inParallel(requests, func(request func()) { request() })
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
		if n.UID != "" && c.hasNoStatus(n) {
			n.setExisting()
			continue
		}
		key := listKey{n.ID.GroupKind(), n.ID.Namespace}
		unread[key] = append(unread[key], n)
	}
	return unread
}

// hasNoStatus reports whether objects of a [Node]'s kind have no status, such as a Secret:
// then the metadata is enough. Only the object of a CustomResourceDefinition itself tells
// whether the object has a status.
func (c *Cluster) hasNoStatus(n *Node) bool {
	k, ok := c.catalog.Kind(n.ID.GroupKind())
	builtIn := !strings.Contains(n.ID.Group, ".") || strings.HasSuffix(n.ID.Group, ".k8s.io")
	return ok && builtIn && !k.HasStatus
}

// isListCheaper reports whether a list of a kind costs less than a GET request for each
// wanted object. The size of the list is known if the kind's metadata was listed.
func (c *Cluster) isListCheaper(key listKey, wanted int) bool {
	total, known := c.listed[key]
	return known && wanted >= minForList && total <= wanted*listedPerGet
}

// readWhole reads the whole object of a [Node], even of a kind without a status.
func (c *Cluster) readWhole(ctx context.Context, n *Node) {
	if k, ok := c.catalog.Kind(n.ID.GroupKind()); ok && n.full == nil {
		c.readOne(ctx, k, n, false)
	}
}

// readOne reads one object. With metadataOnly, the content of the object, such as the
// data of a Secret, is not requested.
func (c *Cluster) readOne(ctx context.Context, k kind, n *Node, metadataOnly bool) {
	var err error
	if metadataOnly {
		var obj *metav1.PartialObjectMetadata
		obj, err = c.metadata.Resource(k.Resource).Namespace(n.ID.Namespace).Get(ctx, n.ID.Name, metav1.GetOptions{})
		if err == nil {
			*n = *newNode(k.GroupKind(), obj)
			n.setExisting()
		}
	} else {
		obj, getErr := c.dynamic.Resource(k.Resource).Namespace(n.ID.Namespace).Get(ctx, n.ID.Name, metav1.GetOptions{})
		if err = getErr; err == nil {
			n.setObject(obj)
		}
	}
	switch {
	case err == nil:
	case apierrors.IsNotFound(err):
		n.setMissing("there is no such object")
	case apierrors.IsForbidden(err):
		n.Message = "you may not read it"
	default:
		n.Message = err.Error()
	}
}

// readList reads all objects of a kind and sets the wanted nodes. If the list fails, the
// status stays [Unknown], and the kind is in Skipped.
func (c *Cluster) readList(ctx context.Context, k kind, namespace string, wanted []*Node) {
	objects, err := c.listObjects(ctx, k, namespace)
	if err != nil {
		c.skip(k, Skipped{Namespace: namespace}, err)
		return
	}
	byUID := make(map[types.UID]*Node, len(wanted))
	for _, n := range wanted {
		byUID[n.UID] = n
	}
	for _, obj := range objects {
		if n := byUID[obj.GetUID()]; n != nil {
			n.setObject(obj)
		}
	}
}
