package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/pkg/locked"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// podRanges are the address ranges of Pods, from spec.podCIDRs of the Nodes. podRanges is safe
// for concurrent use.
type podRanges struct {
	log    logr.Logger
	byNode locked.Map[string, []netip.Prefix]
	once   sync.Once // for unknown
}

// watchPodRanges reads spec.podCIDRs of all Nodes, and watches the Nodes while the manager
// runs. If no Node has spec.podCIDRs, the ranges of Pods are not closed, and the log says so
// once.
func watchPodRanges(
	ctx context.Context, mgr manager.Manager, live client.Client, log logr.Logger,
) (*podRanges, error) {
	p := &podRanges{log: log}
	if err := retry.OnError(patience, worthAnother, func() error { return p.read(ctx, live) }); err != nil {
		p.unknown(err.Error())
	} else if len(p.ranges()) == 0 {
		p.unknown("no Node has spec.podCIDRs")
	}
	c, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make client for Nodes: %w", err)
	}
	informer, err := p.informer(c)
	if err != nil {
		return nil, fmt.Errorf("watch Nodes: %w", err)
	}
	// A new leader must know the ranges.
	err = mgr.Add(reconcile.EveryReplica(func(ctx context.Context) error {
		informer.RunWithContext(ctx)
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("watch Nodes: %w", err)
	}
	return p, nil
}

// pageOfNodes is the page size of the list: a Node may have 50 KiB.
const pageOfNodes = 500

// read lists all Nodes page by page, and keeps only the ranges.
func (p *podRanges) read(ctx context.Context, c client.Client) error {
	more := ""
	for {
		var page corev1.NodeList
		if err := c.List(ctx, &page, client.Limit(pageOfNodes), client.Continue(more)); err != nil {
			return err
		}
		for i := range page.Items {
			p.set(&page.Items[i])
		}
		if more = page.Continue; more == "" {
			return nil
		}
	}
}

// informer returns an informer of Nodes that caches only names and ranges. The informer is not
// part of the pack's cache: without the right to read Nodes, the pack works.
func (p *podRanges) informer(c kubernetes.Interface) (toolscache.SharedIndexInformer, error) {
	informer := coreinformers.NewNodeInformer(c, 0, toolscache.Indexers{})
	if err := informer.SetTransform(onlyRanges); err != nil {
		return nil, err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *toolscache.Reflector, err error) {
		if !worthAnother(err) {
			p.unknown(err.Error())
		}
	})
	if err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(watch.Handler(p.follow))
	return informer, err
}

// onlyRanges is a toolscache.TransformFunc that drops every field of a Node but spec.podCIDRs.
func onlyRanges(cached any) (any, error) {
	n, ok := cached.(*corev1.Node)
	if !ok {
		return cached, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion},
		Spec:       corev1.NodeSpec{PodCIDRs: n.Spec.PodCIDRs},
	}, nil
}

func (p *podRanges) follow(c watch.Change[*corev1.Node]) {
	if c.New == nil {
		p.byNode.Delete(c.Old.Name)
		return
	}
	p.set(c.New)
}

// set records the ranges of a Node.
func (p *podRanges) set(n *corev1.Node) {
	var ranges []netip.Prefix
	for _, text := range n.Spec.PodCIDRs {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			p.log.Error(err, "A range of Pods can't be read", "node", n.Name)
			continue
		}
		ranges = append(ranges, prefix.Masked())
	}
	p.byNode.Update(n.Name, func([]netip.Prefix, bool) ([]netip.Prefix, bool) { return ranges, len(ranges) > 0 })
}

// unknown logs once that the ranges of Pods are not known.
func (p *podRanges) unknown(reason string) {
	p.once.Do(func() {
		p.log.Info("The ranges of Pods are not known: close them with --openstack-closed-cidrs", "reason", reason)
	})
}

// ranges returns the ranges of all Nodes.
func (p *podRanges) ranges() []netip.Prefix {
	var all []netip.Prefix
	for _, ranges := range p.byNode.All() {
		all = append(all, ranges...)
	}
	return all
}
