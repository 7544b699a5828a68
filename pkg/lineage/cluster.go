package lineage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Options of a view.
type Options struct {
	// Relations are the rules by which objects declare edges.
	Relations []relation.Relation
	// References are the rules by which fields of Kubernetes' own kinds name objects. Objects
	// that declare them are read where a question needs it, and as unstructured objects.
	References []relation.Relation
	// Decode turns an object of a declaring kind into the type that its relation
	// extracts from. Without it, extractors get the unstructured object.
	Decode func(*unstructured.Unstructured) (client.Object, error)
	// Finalizers are known in addition to those of Kubernetes.
	Finalizers []Finalizer
	// Locks are the labels of objects whose deletion is refused.
	Locks []Lock
	// Parallel is how many requests are sent at once. Zero means 8.
	Parallel int
	// PageSize is how many objects are read by one request. Zero means 500.
	PageSize int64
}

// Cluster is a view of a cluster for one question. It is not safe for concurrent
// use.
type Cluster struct {
	metadata metadata.Interface
	dynamic  dynamic.Interface
	catalog  catalog
	options  Options
	index    relation.Index
	declared bool

	references map[string]relation.Relation // by name
	referred   map[listKey]bool             // that refer has read

	mu      sync.Mutex // while requests run in parallel
	listed  map[listKey]int
	nodes   map[object.ID]*Node
	owned   map[types.UID][]*Node
	skipped []Skipped
	trials  map[*Node]Trial
}

// Skipped is a kind that an answer leaves out.
type Skipped struct {
	Group    string `json:"group,omitempty"`
	Resource string `json:"resource"`
	// Namespace is set if the kind was left out there only, and Except if it was
	// left out everywhere else.
	Namespace string `json:"namespace,omitempty"`
	Except    string `json:"except,omitempty"`
	Reason    string `json:"reason"`
}

// String returns what was skipped and why, for people.
func (s Skipped) String() string {
	return s.GroupResource().String() + " " + s.Where() + " (" + s.Reason + ")"
}

// GroupResource returns what was left out.
func (s Skipped) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: s.Group, Resource: s.Resource}
}

// Where returns where it was left out.
func (s Skipped) Where() string {
	switch {
	case s.Namespace != "":
		return "in namespace " + s.Namespace
	case s.Except != "":
		return "outside namespace " + s.Except
	default:
		return "in the cluster"
	}
}

// New reads what kinds the cluster serves and returns a view of it.
func New(ctx context.Context, config *rest.Config, options Options) (*Cluster, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS = -1 // Parallel bounds us, and the API server's own fairness.
	}
	config.WarningHandler = rest.NoWarnings{} // That a kind is old is of no interest here.
	c := &Cluster{
		options: options,
		listed:  map[listKey]int{},
		nodes:   map[object.ID]*Node{},
		owned:   map[types.UID][]*Node{},
		trials:  map[*Node]Trial{},

		references: make(map[string]relation.Relation, len(options.References)),
		referred:   map[listKey]bool{},
	}
	for _, r := range options.References {
		c.references[r.Name] = r
	}
	c.options.Parallel = cmp.Or(options.Parallel, 8)
	c.options.PageSize = cmp.Or(options.PageSize, 500)
	if c.options.Decode == nil {
		c.options.Decode = func(u *unstructured.Unstructured) (client.Object, error) { return u, nil }
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
	c.catalog, c.skipped, err = readCatalog(ctx, d)
	return c, err
}

// Skipped returns the kinds that were left out so far, in order.
func (c *Cluster) Skipped() []Skipped {
	all := slices.Clone(c.skipped)
	slices.SortFunc(all, func(a, b Skipped) int {
		return cmp.Or(
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Reason, b.Reason),
		)
	})
	return slices.Compact(all)
}

// node returns the node of an ID, making one if it is not known.
func (c *Cluster) node(id object.ID) *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes[id] == nil {
		c.nodes[id] = &Node{ID: id, Status: Unknown}
	}
	return c.nodes[id]
}

// register takes in nodes that were listed. What is known of one from reading it
// whole is kept.
func (c *Cluster) register(nodes []*Node) {
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

// ownedBy returns the listed objects that an object owns, in order.
func (c *Cluster) ownedBy(n *Node) []*Node {
	if n.UID == "" {
		return nil
	}
	owned := slices.Clone(c.owned[n.UID])
	slices.SortFunc(owned, compareNodes)
	// An object may be served by two groups: then it is listed twice.
	return slices.CompactFunc(owned, func(a, b *Node) bool { return a == b || a.UID == b.UID })
}
