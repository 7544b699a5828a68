package azure

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// secretKind is the kind of the objects with credentials.
var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// provider serves the kinds of a catalogue.
type provider struct {
	kinds      *catalogue.Catalogue
	submission Submission
	connector  *connector
	engine     *external.Engine
	log        logr.Logger
}

// setup adds the pack's controllers to a manager.Manager.
func setup(ctx context.Context, mgr manager.Manager, env pack.Environment, options Options) error {
	requests := calls()
	connector, err := newConnector(env.Live, options, observed(requests, options.kinds()), env.Trace)
	if err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	p := &provider{
		kinds: options.kinds(), submission: options.Submission, connector: connector,
		log: mgr.GetLogger().WithName("azure"),
	}
	p.engine = external.New(mgr, external.Options{
		Group: Prefix, Finalizer: finalizer, Guards: []string{guard}, OwnerLabels: Prefix,
		Noun: "Azure resource", Cloud: "Azure", Summary: true, Specific: true, Adopt: "spec.import",
		Workers: cmp.Or(options.Workers, 16), Pooled: true, Resync: options.Resync, Live: env.Live,
		Events:   mgr.GetEventRecorder("kinship-azure"),
		Catalog:  watch.NewCatalog(discovery.ToDiscoveryInterfaceWithContext(found), nil),
		Discover: p.discover, Health: env.Health,
	})
	p.engine.Watch(secretKind, func(id object.ID) { connector.forget(id.NamespacedName()) })
	if err := p.engine.Start(ctx); err != nil {
		return err
	}
	return pack.RegisterMetrics(requests, p.engine.Metrics(), p.engine.Graph("azure"))
}

// discover adds a kind that the API server serves to external.Engine, if the catalogue has the
// kind.
func (p *provider) discover(served watch.Mapping) {
	found := p.kinds.Find(served.Resource.GroupVersion().WithKind(served.Kind))
	if found == nil {
		return
	}
	k, err := newKind(p.kinds, found)
	if err != nil {
		p.log.Error(err, "A kind can't be served", "kind", found.Kind, "group", found.Group)
		return
	}
	k.connector, k.submission = p.connector, p.submission
	external.Add(p.engine, k.external())
}
