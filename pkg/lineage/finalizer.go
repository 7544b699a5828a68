package lineage

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Waits says for which objects a finalizer waits.
type Waits string

const (
	// WaitsForOthers means something outside, or something not known here.
	WaitsForOthers Waits = ""
	// WaitsForBlocking means owned objects with blockOwnerDeletion.
	WaitsForBlocking Waits = "BlockingOwned"
	// WaitsForOwned means all owned objects.
	WaitsForOwned Waits = "Owned"
	// WaitsForSources means the sources of the edges that the object declares.
	WaitsForSources Waits = "Sources"
	// WaitsForClaim means the claim that a volume is bound to.
	WaitsForClaim Waits = "Claim"
	// WaitsForPods means the Pods that mount a claim.
	WaitsForPods Waits = "Pods"
	// WaitsForContent means all objects in a namespace.
	WaitsForContent Waits = "Content"
	// WaitsForHolders means the sources of edges to the object whose relation has
	// that finalizer. It need not be said of one that some relation has: what a guard
	// is, relations tell.
	WaitsForHolders Waits = "Holders"
	// WaitsForInstances means all objects of the kind that an object defines.
	WaitsForInstances Waits = "Instances"
)

// Finalizer says what is known of a finalizer.
type Finalizer struct {
	Name string
	// By takes it off, such as "the garbage collector".
	By string
	// When it does so, such as "no Pod uses it".
	When string
	// Waits says which objects have to go before.
	Waits Waits
	// Deletes says that By itself deletes what it waits for.
	Deletes bool
}

// namespaceFinalizer stands in the spec of a namespace, not in its metadata.
const namespaceFinalizer = "kubernetes"

// known are the finalizers of Kubernetes itself.
var known = []Finalizer{
	{metav1.FinalizerDeleteDependents, "the garbage collector", "no owned object blocks it", WaitsForBlocking, true},
	{metav1.FinalizerOrphanDependents, "the garbage collector", "no object names it as its owner", WaitsForOwned, false},
	{namespaceFinalizer, "the namespace controller", "nothing is left in it", WaitsForContent, true},
	{
		"customresourcecleanup.apiextensions.k8s.io", "the API server", "no object of its kind is left",
		WaitsForInstances, true,
	},
	{"kubernetes.io/pv-protection", "the volume protection controller", "no claim is bound to it", WaitsForClaim, false},
	{"kubernetes.io/pvc-protection", "the claim protection controller", "no Pod uses it", WaitsForPods, false},
	{
		"service.kubernetes.io/load-balancer-cleanup", "the cloud's service controller", "its load balancer is gone",
		WaitsForOthers, false,
	},
	{"batch.kubernetes.io/job-tracking", "the job controller", "it has counted the Pod", WaitsForOthers, false},
	{
		"external-provisioner.volume.kubernetes.io/finalizer", "the storage driver's provisioner", "the storage is deleted",
		WaitsForOthers, false,
	},
}

func (c *Cluster) finalizer(name string) Finalizer {
	all := slices.Concat(c.options.Finalizers, known)
	i := slices.IndexFunc(all, func(f Finalizer) bool { return f.Name == name })
	if i < 0 {
		return Finalizer{Name: name}
	}
	return all[i]
}

// terminating says what keeps a deleted node.
func (x *explainer) terminating(ctx context.Context, n *Node) ([]*Finding, error) {
	if err := x.whole(ctx, n); err != nil {
		return nil, err
	}
	finalizers := slices.Clone(n.Finalizers)
	if n.full != nil && n.ID.GroupKind() == namespaceKind {
		inSpec, _, err := unstructured.NestedStringSlice(n.full.Object, "spec", "finalizers")
		if err == nil {
			finalizers = append(finalizers, inSpec...)
		}
	}
	if len(finalizers) == 0 {
		return []*Finding{lastMoments(n)}, nil
	}
	e, err := x.ending(ctx, n)
	if err != nil {
		return nil, err
	}
	// The object has them in the order in which they came, which tells nothing. Guards
	// come first: what else there is begins when nobody holds the object.
	slices.Sort(finalizers)
	var guards, others []Finalizer
	for _, name := range finalizers {
		k, err := x.described(ctx, n, name)
		switch {
		case err != nil:
			return nil, err
		case k.Waits == WaitsForHolders:
			guards = append(guards, k)
		default:
			others = append(others, k)
		}
	}
	findings := make([]*Finding, 0, len(finalizers))
	for _, k := range slices.Concat(guards, others) {
		f, err := x.finalizerFinding(ctx, e, k)
		if err != nil {
			return nil, err
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// ending is the deletion of a node.
type ending struct {
	*Node

	// step is what would end it as far as others hold the node.
	step string
	// reported is what the node's conditions say of it, and what is behind that.
	reported []*Finding
}

// ending returns what there is to know of a deletion, whatever finalizer it is
// about.
func (x *explainer) ending(ctx context.Context, n *Node) (*ending, error) {
	holders, err := x.allHolders(ctx, n)
	if err != nil {
		return nil, err
	}
	unmet, told, err := x.unmet(ctx, n)
	for _, h := range holders {
		told = append(told, h.ID)
	}
	return &ending{
		Node: n, step: x.release(holders),
		reported: append(withoutNext(conditionFindings(n, told...)), unmet...),
	}, err
}

// report returns what the node's conditions say, for the first finalizer that it
// may be about.
func (e *ending) report() []*Finding {
	reported := e.reported
	e.reported = nil
	return reported
}

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// lastMoments explains a deleted node without finalizers.
func lastMoments(n *Node) *Finding {
	f := &Finding{
		About: n.ID, Topic: AboutStatus, Text: "it has no finalizer left, so it goes at any moment",
		Next: fmt.Sprintf("wait a moment for the API server to remove %s", n.ID),
	}
	if n.ID.Group != "" || n.ID.Kind != "Pod" || n.full == nil {
		return f
	}
	host, _, err := unstructured.NestedString(n.full.Object, "spec", "nodeName")
	if err != nil || host == "" {
		return f
	}
	f.Text = fmt.Sprintf("the kubelet on Node/%s has yet to report that its containers have ended", host)
	f.Next = fmt.Sprintf("wait for the kubelet on Node/%s; if that node is gone, its administrator has to delete it", host)
	return f
}

// described returns what is known of a finalizer on a node. By has nothing if that
// is nothing.
func (x *explainer) described(ctx context.Context, n *Node, name string) (Finalizer, error) {
	holders, err := x.holders(ctx, n, name)
	return x.asGuard(n, x.finalizer(name), len(holders) > 0), err
}

func (x *explainer) finalizerFinding(ctx context.Context, e *ending, k Finalizer) (*Finding, error) {
	n := e.Node
	if k.By == "" {
		return strangeFinalizer(e, k.Name), nil
	}
	f := &Finding{
		About: n.ID, Topic: AboutFinalizer,
		Text: fmt.Sprintf("finalizer %s: %s takes it off when %s", k.Name, k.By, k.When),
		Next: fmt.Sprintf("wait for %s; if this lasts, see that it runs", k.By),
	}
	if k.Waits == WaitsForHolders {
		var err error
		f.Because, err = x.heldFindings(ctx, e, k)
		return f, err
	}
	if slices.Contains([]Waits{WaitsForOthers, WaitsForSources, WaitsForContent, WaitsForInstances}, k.Waits) {
		f.Because = e.report()
	}
	if k.Waits == WaitsForContent {
		broken, err := x.brokenGroups(ctx, n)
		if err != nil {
			return nil, err
		}
		f.Because = append(f.Because, broken...)
	}
	blockers, err := x.blockers(ctx, n, k.Waits)
	if err != nil {
		return nil, err
	}
	blockers, more := few(n.ID, blockers)
	if err := x.fill(ctx, blockers); err != nil {
		return nil, err
	}
	for _, b := range blockers {
		blocked, err := x.blocker(ctx, b, k)
		if err != nil {
			return nil, err
		}
		f.Because = append(f.Because, blocked)
	}
	f.Because = append(f.Because, more...)
	return f, nil
}

// strangeFinalizer is of a finalizer of which nothing is known.
func strangeFinalizer(e *ending, name string) *Finding {
	f := &Finding{
		About: e.ID, Topic: AboutFinalizer,
		Text: fmt.Sprintf("finalizer %s: whoever put it there has to take it off", name),
		Next: fmt.Sprintf("see that the controller behind finalizer %s runs and can do its work", name),
	}
	if m := author(e.Node, name); m != "" {
		f.Text = fmt.Sprintf("finalizer %s: whoever put it there, under the name %s, has to take it off", name, m)
		f.Next += "; it writes as " + m
	}
	f.Because = e.report()
	return f
}

// withoutNext drops the steps of findings that only illustrate another one.
func withoutNext(findings []*Finding) []*Finding {
	for _, f := range findings {
		f.Next = ""
	}
	return findings
}

// blocker says why an object is still there that a finalizer waits for.
func (x *explainer) blocker(ctx context.Context, b *Node, k Finalizer) (*Finding, error) {
	f := &Finding{About: b.ID, Topic: AboutBlocker}
	switch {
	case b.Status == NotFound:
		f.Text = b.ID.String() + " is gone"
		return f, nil
	case b.Deleted != nil:
		f.Text = b.ID.String() + " is being deleted, too"
	case k.Deletes:
		f.Text = fmt.Sprintf("%s has yet to be deleted by %s", b.ID, k.By)
		f.Next = fmt.Sprintf("wait for %s to delete %s; if this lasts, see that it runs", k.By, b.ID)
	default:
		f.Text = b.ID.String() + " is there, and nobody has deleted it"
		f.Next = x.deletion(b)
	}
	var err error
	f.Because, err = x.follow(ctx, b, x.goes)
	return f, err
}

// blockers returns the objects that a finalizer waits for.
func (x *explainer) blockers(ctx context.Context, n *Node, waits Waits) ([]*Node, error) {
	switch waits {
	case WaitsForBlocking, WaitsForOwned:
		return x.ownedBlockers(ctx, n, waits == WaitsForOwned)
	case WaitsForSources:
		var sources []*Node
		for _, e := range x.index.Declared(n.ID) {
			if e.Content != nil {
				continue
			}
			nodes, err := x.sources(ctx, e)
			if err != nil {
				return nil, err
			}
			sources = append(sources, nodes...)
		}
		return sources, nil
	case WaitsForClaim:
		return x.claimOf(n), nil
	case WaitsForPods:
		return x.podsWith(ctx, n)
	case WaitsForContent:
		return x.content(ctx, n)
	case WaitsForInstances:
		return x.instances(ctx, n)
	default:
		return nil, nil
	}
}

func (x *explainer) ownedBlockers(ctx context.Context, n *Node, all bool) ([]*Node, error) {
	if err := x.list(ctx, x.catalog.ownable(n.ID.Namespace), n.ID.Namespace); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(x.ownedBy(n), func(owned *Node) bool {
		blocks := slices.ContainsFunc(owned.Owners, func(o metav1.OwnerReference) bool {
			return o.UID == n.UID && o.BlockOwnerDeletion != nil && *o.BlockOwnerDeletion
		})
		return !all && !blocks
	}), nil
}

// claimOf returns the claim that a volume is bound to.
func (x *explainer) claimOf(n *Node) []*Node {
	if n.full == nil {
		return nil
	}
	ref, _, err := unstructured.NestedStringMap(n.full.Object, "spec", "claimRef")
	if err != nil || ref["name"] == "" {
		return nil
	}
	return []*Node{x.node(object.ID{Kind: "PersistentVolumeClaim", Namespace: ref["namespace"], Name: ref["name"]})}
}

// podsWith returns the Pods that mount a claim.
func (x *explainer) podsWith(ctx context.Context, n *Node) ([]*Node, error) {
	gk := schema.GroupKind{Kind: "Pod"}
	k, ok := x.catalog.Kind(gk)
	if !ok {
		return nil, nil
	}
	objects, err := x.listFull(ctx, k, n.ID.Namespace)
	if err != nil {
		return nil, x.skip(ctx, k, Skipped{Namespace: n.ID.Namespace}, err)
	}
	var pods []*Node
	for _, obj := range objects {
		if !mounts(obj, n.ID.Name) {
			continue
		}
		pod := x.node(object.Of(obj, gk))
		pod.take(obj)
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, compareNodes)
	return pods, nil
}

// mounts reports whether a Pod keeps a claim. One without a node does not: the
// kubelet would not start it with a claim that is being deleted.
func mounts(pod *unstructured.Unstructured, claim string) bool {
	node, _, err := unstructured.NestedString(pod.Object, "spec", "nodeName")
	if err != nil || node == "" {
		return false
	}
	volumes, _, err := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	return err == nil && slices.ContainsFunc(volumes, func(volume any) bool {
		fields, _ := volume.(map[string]any)
		name, _, err := unstructured.NestedString(fields, "persistentVolumeClaim", "claimName")
		return err == nil && name == claim
	})
}

// content returns what is left in a namespace, what has finalizers first.
func (x *explainer) content(ctx context.Context, n *Node) ([]*Node, error) {
	if err := x.list(ctx, x.catalog.ownable(n.ID.Name), n.ID.Name); err != nil {
		return nil, err
	}
	var left []*Node
	for _, node := range x.nodes {
		if node.ID.Namespace == n.ID.Name && node.UID != "" {
			left = append(left, node)
		}
	}
	slices.SortFunc(left, func(a, b *Node) int {
		if held := len(b.Finalizers) - len(a.Finalizers); (len(a.Finalizers) == 0) != (len(b.Finalizers) == 0) {
			return held
		}
		return compareNodes(a, b)
	})
	return slices.CompactFunc(left, func(a, b *Node) bool { return a.UID == b.UID }), nil
}

// instances returns the objects of the kind that a node defines.
func (x *explainer) instances(ctx context.Context, n *Node) ([]*Node, error) {
	if n.full == nil {
		return nil, nil
	}
	// The API server checked the types of both.
	group, _, _ := unstructured.NestedString(n.full.Object, "spec", "group")
	kindName, _, _ := unstructured.NestedString(n.full.Object, "spec", "names", "kind")
	k, ok := x.catalog.Kind(schema.GroupKind{Group: group, Kind: kindName})
	if !ok {
		return nil, nil
	}
	if err := x.list(ctx, []kind{k}, ""); err != nil {
		return nil, err
	}
	var left []*Node
	for _, node := range x.nodes {
		if node.ID.GroupKind() == k.GroupKind() && node.UID != "" {
			left = append(left, node)
		}
	}
	slices.SortFunc(left, compareNodes)
	return left, nil
}
