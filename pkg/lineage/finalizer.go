package lineage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
)

// Waits is the set of objects that a [Finalizer] waits for.
type Waits string

const (
	// waitsForOthers means something outside the cluster, or something unknown.
	waitsForOthers Waits = ""
	// waitsForBlocking means owned objects with blockOwnerDeletion.
	waitsForBlocking Waits = "BlockingOwned"
	// WaitsForOwned means all owned objects.
	WaitsForOwned Waits = "Owned"
	// WaitsForSources means the sources of the edges that the object declares, such as
	// spec.by of a Usage.
	WaitsForSources Waits = "Sources"
	// waitsForContent means all objects in a namespace.
	waitsForContent Waits = "Content"
	// waitsForHolders means the sources of edges to the object whose Relation.Finalizer is
	// the finalizer. finalizerOn derives waitsForHolders from the relations.
	waitsForHolders Waits = "Holders"
	// waitsForInstances means all objects of the kind that a CustomResourceDefinition defines.
	waitsForInstances Waits = "Instances"
)

// Finalizer is a row of the table of finalizers, such as kubernetes.io/pvc-protection.
type Finalizer struct {
	Name string
	// By removes the finalizer, such as "the garbage collector".
	By string
	// When is the condition of the removal, such as "no Pod mounts the claim".
	When string
	// Waits are the objects that have to be deleted before, such as [WaitsForOwned].
	Waits Waits
	// Deletes is true if By deletes the objects in Waits, as for foregroundDeletion.
	Deletes bool
}

// Named returns a [Finalizer] for each name of an [object.Finalizer]: the present name and the former names.
func Named(names object.Finalizer, f Finalizer) []Finalizer {
	return lists.Map(append([]string{names.Name}, names.Former...), func(name string) Finalizer {
		f.Name = name
		return f
	})
}

// namespaceFinalizer is in spec.finalizers of a Namespace instead of metadata.finalizers.
const namespaceFinalizer = "kubernetes"

// known are the finalizers of Kubernetes. The relations in pkg/relation/builtin add the
// objects that kubernetes.io/pv-protection and kubernetes.io/pvc-protection wait for: a
// claim keeps its volume, and a Pod keeps its claim.
var known = []Finalizer{
	{metav1.FinalizerDeleteDependents, "the garbage collector", "no owned object blocks it", waitsForBlocking, true},
	{metav1.FinalizerOrphanDependents, "the garbage collector", "no object names it as its owner", WaitsForOwned, false},
	{namespaceFinalizer, "the namespace controller", "nothing is left in it", waitsForContent, true},
	{
		"customresourcecleanup.apiextensions.k8s.io", "the API server", "no object of its kind is left",
		waitsForInstances, true,
	},
	{"kubernetes.io/pv-protection", "the volume protection controller", "no claim is bound to it", waitsForOthers, false},
	{"kubernetes.io/pvc-protection", "the claim protection controller", "no Pod mounts it", waitsForOthers, false},
	{
		"service.kubernetes.io/load-balancer-cleanup", "the cloud's service controller", "its load balancer is gone",
		waitsForOthers, false,
	},
	{"batch.kubernetes.io/job-tracking", "the job controller", "it has counted the Pod", waitsForOthers, false},
	{
		"external-provisioner.volume.kubernetes.io/finalizer", "the storage driver's provisioner", "the storage is deleted",
		waitsForOthers, false,
	},
}

// finalizerOn returns what is known of a finalizer on a [Node]. A finalizer of a rule waits
// for the sources that hold the node. On an object of the declaring kind, the finalizer
// can also belong to the controller of the object: openstack.k-orc.cloud/port on a Port
// waits for the Port's resource, unless another Port holds the Port.
func (x *explainer) finalizerOn(n *Node, name string, held bool) Finalizer {
	f := Finalizer{Name: name}
	for _, table := range [][]Finalizer{known, x.options.Finalizers} {
		if i := slices.IndexFunc(table, func(f Finalizer) bool { return f.Name == name }); i >= 0 {
			f = table[i]
		}
	}
	kinds := x.rules.holdingBy(name).declarers()
	if len(kinds) == 0 || (!held && slices.Contains(kinds, n.ID.GroupKind())) {
		return f
	}
	names := lists.Map(kinds, func(gk schema.GroupKind) string { return gk.Kind })
	f.Waits, f.When = waitsForHolders, fmt.Sprintf("no %s refers to it", strings.Join(names, " or "))
	if f.By == "" {
		f.By = fmt.Sprintf("the controller of %s objects", kinds[0])
	}
	return f
}

// deletion is a deleted node and the findings that its finalizers share.
type deletion struct {
	*Node

	step     string     // that releases the node from all its holders
	reported []*Finding // of the node's conditions and dependencies; nil once a finding has them
}

// takeReported returns reported for the first finalizer that the conditions can be about.
func (d *deletion) takeReported() []*Finding {
	reported := d.reported
	d.reported = nil
	return reported
}

// terminatingFindings returns a [Finding] for each finalizer of a deleted node. Finalizers
// that wait for holders come first, because the other finalizers are removed later.
func (x *explainer) terminatingFindings(ctx context.Context, n *Node) []*Finding {
	x.readWhole(ctx, n)
	finalizers := slices.Clone(n.Finalizers)
	if n.full != nil && n.ID.GroupKind() == namespaceKind {
		inSpec, _, _ := unstructured.NestedStringSlice(n.full.Object, "spec", "finalizers")
		finalizers = append(finalizers, inSpec...)
	}
	if len(finalizers) == 0 {
		return []*Finding{finishingFinding(n)}
	}
	x.readReferrers(ctx, []*Node{n}, func(r rule) bool { return slices.Contains(finalizers, r.Finalizer) })
	holders := x.holders(ctx, n, finalizers...)
	unmet, told := x.dependencyFindings(ctx, n)
	for _, h := range holders {
		told = append(told, h.ID)
	}
	reported := append(conditionFindings(n, n.Conditions, told...), unmet...)
	for _, f := range reported[:len(reported)-len(unmet)] {
		f.Next = "" // The finalizer's step comes before the steps of conditions.
	}
	d := &deletion{Node: n, step: x.releaseStep(holders), reported: reported}
	slices.Sort(finalizers) // Their order on the object is the order of their creation.
	var holding, others []Finalizer
	for _, name := range finalizers {
		f := x.finalizerOn(n, name, len(x.holders(ctx, n, name)) > 0)
		if f.Waits == waitsForHolders {
			holding = append(holding, f)
		} else {
			others = append(others, f)
		}
	}
	return lists.Map(slices.Concat(holding, others), func(f Finalizer) *Finding { return x.finalizerFinding(ctx, d, f) })
}

// finishingFinding describes a deleted node without finalizers.
func finishingFinding(n *Node) *Finding {
	f := &Finding{
		About: n.ID, Topic: aboutStatus, Text: "no finalizer is left, so the API server deletes it at any moment",
		Next: fmt.Sprintf("wait a moment for the API server to delete %s", n.ID),
	}
	if host := n.text("spec", "nodeName"); n.ID.GroupKind() == podKind && host != "" {
		f.Text = fmt.Sprintf("the kubelet on Node/%s has not reported yet that the containers have ended", host)
		f.Next = fmt.Sprintf("wait for the kubelet on Node/%s; if that node is gone, "+
			"a cluster administrator has to delete Node/%s", host, host)
	}
	return f
}

var (
	namespaceKind = schema.GroupKind{Kind: "Namespace"}
	podKind       = schema.GroupKind{Kind: "Pod"}
	secretKind    = schema.GroupKind{Kind: "Secret"}
)

// finalizerFinding describes one finalizer of a deleted node and what the finalizer waits for.
func (x *explainer) finalizerFinding(ctx context.Context, d *deletion, k Finalizer) *Finding {
	if k.By == "" {
		return unknownFinalizerFinding(d, k.Name)
	}
	f := &Finding{
		About: d.ID, Topic: aboutFinalizer,
		Text: fmt.Sprintf("finalizer %s: %s removes it when %s", k.Name, k.By, k.When),
		Next: fmt.Sprintf("wait for %s; if this takes long, check that it runs", k.By),
	}
	switch k.Waits {
	case waitsForHolders:
		f.Because = x.holdingFindings(ctx, d, k.Name)
		return f
	case waitsForContent:
		f.Because = append(d.takeReported(), x.apiGroupFindings(ctx, d.Node)...)
	case waitsForOthers, WaitsForSources, waitsForInstances:
		f.Because = d.takeReported()
	case waitsForBlocking, WaitsForOwned:
	}
	blockers := x.blockers(ctx, d.Node, k.Waits)
	x.readFirst(ctx, blockers)
	f.Because = append(f.Because, findEach(d.ID, blockers, func(b *Node) *Finding {
		return x.blockerFinding(ctx, b, k)
	})...)
	return f
}

// unknownFinalizerFinding describes a finalizer that neither a table nor a rule has.
func unknownFinalizerFinding(d *deletion, name string) *Finding {
	f := &Finding{
		About: d.ID, Topic: aboutFinalizer, Because: d.takeReported(),
		Text: fmt.Sprintf("finalizer %s: its controller has to remove it", name),
		Next: fmt.Sprintf("check that the controller behind finalizer %s runs and can do its work", name),
	}
	if manager := finalizerManager(d.Node, name); manager != "" {
		f.Text += fmt.Sprintf("; field manager %s added it", manager)
		f.Next += fmt.Sprintf(" (field manager %s)", manager)
	}
	return f
}

// blockerFinding describes an object that a finalizer waits for.
func (x *explainer) blockerFinding(ctx context.Context, b *Node, k Finalizer) *Finding {
	f := &Finding{About: b.ID, Topic: aboutBlocker}
	switch {
	case b.Status == NotFound:
		f.Text = b.ID.String() + " is gone"
		return f
	case b.Deleted != nil:
		f.Text = b.ID.String() + " is being deleted too"
	case k.Deletes:
		f.Text = fmt.Sprintf("%s has not deleted %s yet", k.By, b.ID)
		f.Next = fmt.Sprintf("wait for %s to delete %s; if this takes long, check that it runs", k.By, b.ID)
	default:
		f.Text = b.ID.String() + " exists and is not being deleted"
		f.Next = x.deleteStep(b)
	}
	f.Because = x.follow(ctx, b, x.deletionFindings)
	return f
}

// blockers returns the objects that a finalizer of n waits for, by [Finalizer] Waits.
func (x *explainer) blockers(ctx context.Context, n *Node, waits Waits) []*Node {
	switch waits {
	case waitsForBlocking, WaitsForOwned:
		x.list(ctx, x.catalog.ownable(n.ID.Namespace), n.ID.Namespace)
		return slices.DeleteFunc(x.ownedBy(n), func(owned *Node) bool {
			return waits == waitsForBlocking && !blocksDeletion(owned, n)
		})
	case WaitsForSources:
		var sources []*Node
		for _, e := range x.index.Declared(n.ID) {
			if e.Content == nil {
				sources = append(sources, x.sources(ctx, e)...)
			}
		}
		return sources
	case waitsForContent:
		x.list(ctx, x.catalog.ownable(n.ID.Name), n.ID.Name)
		content := x.selectNodes(func(node *Node) bool { return node.ID.Namespace == n.ID.Name })
		slices.SortStableFunc(content, moreFinalizersFirst)
		return content
	case waitsForInstances:
		gk := schema.GroupKind{Group: n.text("spec", "group"), Kind: n.text("spec", "names", "kind")}
		if k, ok := x.catalog.Kind(gk); ok {
			x.list(ctx, []kind{k}, "")
			return x.selectNodes(func(node *Node) bool { return node.ID.GroupKind() == gk })
		}
	case waitsForOthers, waitsForHolders:
	}
	return nil
}

// blocksDeletion reports whether an owned object has blockOwnerDeletion for an owner.
func blocksDeletion(owned, owner *Node) bool {
	return slices.ContainsFunc(owned.Owners, func(o metav1.OwnerReference) bool {
		return o.UID == owner.UID && o.BlockOwnerDeletion != nil && *o.BlockOwnerDeletion
	})
}

// moreFinalizersFirst puts objects with finalizers before objects without: objects with
// finalizers keep a namespace for longer.
func moreFinalizersFirst(a, b *Node) int {
	return lastIf(len(a.Finalizers) == 0) - lastIf(len(b.Finalizers) == 0)
}
