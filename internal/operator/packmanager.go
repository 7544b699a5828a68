package operator

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	ctrlrecorder "sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/logging"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// packManager is the operator's manager.Manager with the ServiceAccount and the cache of one pack.
// A manager.Manager starts no controller before its own cache has read everything. With one cache
// for all packs, a missing right of the pack openstack would keep the pack usage from starting.
type packManager struct {
	manager.Manager
	name   string
	config *rest.Config
	http   *http.Client
	cache  cache.Cache
	client client.Client
	live   client.Reader
	health *watch.Health
	synced atomic.Bool
	guards *guards.Monitor // nil until the pack is set up
	gate   reconcile.Gate
	tracer trace.Tracer // nil without traces
	// namespaces are Options.Namespaces. Empty means all.
	namespaces []string
}

// newPackManager returns a packManager, and adds its cache to the operator's manager.Manager.
func newPackManager(
	o process, mgr manager.Manager, config *rest.Config, p pack.Pack, chosen []pack.Pack,
) (*packManager, error) {
	m := &packManager{Manager: mgr, name: p.Name, config: config, health: &watch.Health{
		Log: mgr.GetLogger().WithName("watch").WithValues("pack", p.Name),
	}}
	var err error
	if m.http, err = rest.HTTPClientFor(config); err != nil { // The manager's acts as another account.
		return nil, fmt.Errorf("make client for pack %s: %w", p.Name, err)
	}
	unreadable := m.GetEventRecorder("kinship-" + p.Name)
	m.health.Report = func(obj runtime.Object, message string) { reportUnreadable(unreadable, obj, message) }
	untyped, err := dynamic.NewForConfigAndClient(config, m.http)
	if err != nil {
		return nil, fmt.Errorf("make client for pack %s: %w", p.Name, err)
	}
	factory := &watch.Factory{Scheme: mgr.GetScheme(), Health: m.health, Untyped: watch.Untyped(
		func(gvk schema.GroupVersionKind) (dynamic.NamespaceableResourceInterface, error) {
			mapping, err := mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
			if err != nil {
				return nil, fmt.Errorf("find resource of kind %s: %w", gvk.Kind, err)
			}
			return untyped.Resource(mapping.Resource), nil
		})}
	factory.Tally, factory.Bounded = o.limits.tally, o.limits.bounds
	m.namespaces = o.Namespaces
	m.cache, err = m.newCache(cache.Options{DefaultTransform: trim(chosen), NewInformer: factory.New})
	if err != nil {
		return nil, fmt.Errorf("make cache for pack %s: %w", p.Name, err)
	}
	m.client, err = client.New(config, client.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: m.http,
		Cache: &client.CacheOptions{Reader: m.cache},
	})
	if err != nil {
		return nil, fmt.Errorf("make client for pack %s: %w", p.Name, err)
	}
	m.live, err = client.New(config, client.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: m.http,
	})
	if err != nil {
		return nil, fmt.Errorf("make client for pack %s: %w", p.Name, err)
	}
	return m, m.add()
}

// newCache returns a cache.Cache that reads as the pack's ServiceAccount.
func (m *packManager) newCache(options cache.Options) (cache.Cache, error) {
	options.Scheme, options.Mapper, options.HTTPClient = m.GetScheme(), m.GetRESTMapper(), m.http
	return watch.NewCache(options, func(options cache.Options) (cache.Cache, error) {
		return cache.New(m.config, options)
	}, m.namespaces...)
}

// reportUnreadable records the Event Unreadable on an object that the operator can't read.
func reportUnreadable(to ctrlrecorder.EventRecorder, obj runtime.Object, message string) {
	to.Eventf(obj, nil, "Warning", "Unreadable", "Watch", "%s", message)
}

// Tracer implements reconcile.Traced.
func (m *packManager) Tracer() (trace.Tracer, string) { return m.tracer, m.name }

// GetCache implements cluster.Cluster.
func (m *packManager) GetCache() cache.Cache { return m.cache }

// GetEventRecorder implements recorder.Provider.
func (m *packManager) GetEventRecorder(name string) ctrlrecorder.EventRecorder {
	return logging.NewEventLog(m.Manager.GetEventRecorder(name), m.GetScheme(),
		m.GetLogger().WithName("events").WithValues("pack", m.name))
}

// Gate implements reconcile.Gated.
func (m *packManager) Gate() *reconcile.Gate { return &m.gate }

// GetClient implements cluster.Cluster.
func (m *packManager) GetClient() client.Client { return m.client }

// GetAPIReader implements cluster.Cluster.
func (m *packManager) GetAPIReader() client.Reader { return m.live }

// GetFieldIndexer implements cluster.Cluster.
func (m *packManager) GetFieldIndexer() client.FieldIndexer { return m.cache }

// GetConfig implements cluster.Cluster.
func (m *packManager) GetConfig() *rest.Config { return m.config }

// GetHTTPClient implements cluster.Cluster.
func (m *packManager) GetHTTPClient() *http.Client { return m.http }

// add adds packManager.cache to the operator's manager.Manager, with metrics and a readiness check.
func (m *packManager) add() error {
	// An unsynced packManager.cache delays no other pack: the manager.Manager waits only for its
	// own cache.
	if err := m.Add(m.cache); err != nil {
		return fmt.Errorf("add cache of pack %s: %w", m.name, err)
	}
	if err := m.Add(reconcile.EveryReplica(m.awaitSync)); err != nil {
		return fmt.Errorf("add cache of pack %s: %w", m.name, err)
	}
	if err := ctrlmetrics.Registry.Register(m.health.Metrics(m.name)); err != nil {
		return fmt.Errorf("register metrics of pack %s: %w", m.name, err)
	}
	err := m.AddReadyzCheck("pack-"+m.name, func(*http.Request) error { return m.health.Err() })
	if err != nil {
		return fmt.Errorf("add readiness check of pack %s: %w", m.name, err)
	}
	return nil
}

func (m *packManager) awaitSync(ctx context.Context) error {
	m.synced.Store(watch.WaitForSync(ctx, m.cache))
	return nil
}

// unsettled returns an error until packManager.cache has synced (or can't, by Health.Err), and
// guards.Monitor.HasLooked is true. Objects that are written afterwards are not judged again because of the start.
func (m *packManager) unsettled() error {
	switch {
	case !m.synced.Load() && m.health.Err() == nil:
		return fmt.Errorf("pack %s: the first LIST of a kind is not complete", m.name)
	case m.guards != nil && !m.guards.HasLooked():
		return fmt.Errorf("pack %s: its guards are not read yet", m.name)
	}
	return nil
}
