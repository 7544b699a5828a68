package lineage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/locked"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Options of a [Cluster].
type Options struct {
	// Relations are the rules by which objects of packs declare edges. A question reads
	// all objects of the declaring kinds.
	Relations []relation.Relation
	// Discover, if set, returns further rules such as Relations, for a kind that the cluster serves: thousands
	// of kinds may be possible, and only those that are installed have objects.
	Discover func(schema.GroupVersionKind) []relation.Relation
	// References are the rules by which fields of Kubernetes' own kinds name objects. A
	// question reads only declaring objects that can name an object of the answer, as
	// unstructured.Unstructured.
	References []relation.Relation
	// Decode turns an object of a declaring kind into the type that Relation.Extract
	// expects. Without Decode, Extract gets the unstructured.Unstructured.
	Decode func(*unstructured.Unstructured) (client.Object, error)
	// Finalizers are known in addition to the finalizers of Kubernetes.
	Finalizers []Finalizer
	// Locks are the labels of objects whose deletion is refused.
	Locks []Lock
	// PageSize is how many objects a list request returns. Zero means 500.
	PageSize int64
}

// Cluster is a view of a cluster for one question. Cluster is not safe for concurrent
// use.
//
// Reads never return an error. An object that the API server does not return has
// [Node.Message], and a kind has an entry in Skipped. If the caller's context ends, the
// methods drop the answer and return the error of the context.
type Cluster struct {
	metadata metadata.Interface
	dynamic  dynamic.Interface
	catalog  catalog
	options  Options
	rules    rules
	// ownerRules tell which owner an object waits for.
	ownerRules rules
	index      relation.Index
	declared   map[listKey]bool // whose objects readDeclarers has read

	mu      sync.Mutex // for the fields below, while requests run in parallel
	listed  map[listKey]int
	nodes   map[object.ID]*Node
	owned   map[types.UID][]*Node
	skipped []Skipped

	trials locked.Map[*Node, Trial]
}

// New reads the kinds that the cluster serves and returns a [Cluster].
func New(ctx context.Context, config *rest.Config, options Options) (*Cluster, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS = -1 // maxParallel and the API server's priority and fairness limit the load.
	}
	config.WarningHandler = rest.NoWarnings{} // A deprecated apiVersion matters to no question.
	options.PageSize = cmp.Or(options.PageSize, 500)
	if options.Decode == nil {
		options.Decode = func(u *unstructured.Unstructured) (client.Object, error) { return u, nil }
	}
	c := &Cluster{
		options:  options,
		declared: map[listKey]bool{},
		listed:   map[listKey]int{},
		nodes:    map[object.ID]*Node{},
		owned:    map[types.UID][]*Node{},
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make discovery client: %w", err)
	}
	if c.metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient); err != nil {
		return nil, fmt.Errorf("make metadata client: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(dynamic.ConfigFor(config), httpClient); err != nil {
		return nil, fmt.Errorf("make dynamic client: %w", err)
	}
	if c.catalog, c.skipped, err = readCatalog(ctx, d); err != nil {
		return nil, err
	}
	if options.Discover != nil {
		for _, k := range c.catalog.Served() {
			discovered := options.Discover(k.Resource.GroupVersion().WithKind(k.Kind))
			options.Relations = append(slices.Clip(options.Relations), discovered...)
		}
	}
	c.options = options
	c.rules, c.ownerRules = newRules(options)
	return c, nil
}

// maxParallel is how many requests run at once.
const maxParallel = 8

// inParallel calls do for each item, maxParallel calls at a time.
func inParallel[T any](items []T, do func(T)) {
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for _, item := range items {
		group.Go(func() error {
			do(item)
			return nil
		})
	}
	_ = group.Wait() // No call returns an error.
}

// contextError returns an error if the caller's context has ended, because then the
// reads of an answer have failed.
func contextError(ctx context.Context, about object.ID) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("read what is related to %s: %w", about, err)
	}
	return nil
}

// node returns the [Node] of an ID, and makes a [Node] for an unknown ID.
func (c *Cluster) node(id object.ID) *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes[id] == nil {
		c.nodes[id] = &Node{ID: id, Status: Unknown}
	}
	return c.nodes[id]
}

// register adds listed nodes to c.nodes and c.owned. A [Node] that was read whole is kept
// when a list returns metadata of the same object.
func (c *Cluster) register(nodes ...*Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range nodes {
		known := c.nodes[n.ID]
		switch {
		case known == nil:
			c.nodes[n.ID] = n
		case known.UID != n.UID || (known.full == nil && n.full != nil):
			*known = *n
			n = known
		default:
			n = known
		}
		for i, owner := range n.Owners {
			if !slices.ContainsFunc(n.Owners[:i], sameUID(owner.UID)) {
				c.owned[owner.UID] = append(c.owned[owner.UID], n)
			}
		}
	}
}

// selectNodes returns the nodes of existing objects for which accept returns true, in order.
func (c *Cluster) selectNodes(accept func(*Node) bool) []*Node {
	var found []*Node
	for _, n := range c.nodes {
		if n.UID != "" && accept(n) {
			found = append(found, n)
		}
	}
	return inOrder(found)
}

// inOrder sorts nodes and drops duplicates: an object that two API groups serve, such as
// an Ingress of extensions and of networking.k8s.io, was listed twice.
func inOrder(nodes []*Node) []*Node {
	slices.SortFunc(nodes, compareNodes)
	return slices.CompactFunc(nodes, func(a, b *Node) bool { return a == b || (a.UID == b.UID && a.UID != "") })
}

// ownedBy returns the listed objects that an object owns, in order.
func (c *Cluster) ownedBy(n *Node) []*Node {
	if n.UID == "" {
		return nil
	}
	return inOrder(slices.Clone(c.owned[n.UID]))
}

// owners returns the nodes that the metadata.ownerReferences of an object name, in order. An
// owner reference with the uid of a deleted object gives a [Node] of its own, even if
// another object has the name now.
func (c *Cluster) owners(n *Node) []*Node {
	owners := make([]*Node, 0, len(n.Owners))
	for i, ref := range n.Owners {
		if slices.ContainsFunc(n.Owners[:i], sameUID(ref.UID)) {
			continue
		}
		owner := c.node(c.ownerID(n, ref))
		if owner.UID != ref.UID && (owner.full != nil || owner.UID != "") {
			owner = replaced(owner.ID, ref.UID)
		}
		owners = append(owners, owner)
	}
	slices.SortFunc(owners, compareNodes)
	return owners
}

// ownerID returns the ID of an owner, which is in the namespace of the owned object or
// has no namespace.
func (c *Cluster) ownerID(n *Node, ref metav1.OwnerReference) object.ID {
	gk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	id := object.ID{Group: gk.Group, Kind: gk.Kind, Name: ref.Name}
	if k, ok := c.catalog.Kind(gk); !ok || k.Namespaced {
		id.Namespace = n.ID.Namespace
	}
	return id
}

// controller returns the ID and the uid of the owner that controls a [Node], such as the
// ReplicaSet of a Pod. An owner that the node's own spec names did not create the node, and
// would not create the node again: such an owner is left out.
func (c *Cluster) controller(n *Node) (id object.ID, uid types.UID, ok bool) {
	i := slices.IndexFunc(n.Owners, isController)
	if i < 0 {
		return object.ID{}, "", false
	}
	id = c.ownerID(n, n.Owners[i])
	mayName := func(r rule) bool { return r.MayTarget(id.GroupKind()) }
	if slices.ContainsFunc(c.ownerRules.declaredBy(n.ID.GroupKind()), mayName) {
		return object.ID{}, "", false
	}
	return id, n.Owners[i].UID, true
}
