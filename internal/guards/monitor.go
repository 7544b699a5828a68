package guards

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinship-dev/kinship/internal/admission"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Monitor watches the guards of one pack: webhook configurations, policies and their bindings. While
// a guard is missing, the API server admits specs that no webhook or policy has judged.
// reconcile.Gate then stops the pack's reconcilers, so that no reconciler acts on an unjudged spec.
// With --install, guards restores the guard at once. Every replica runs guards.
type Monitor struct {
	pack    pack.Pack
	live    client.Client
	reader  client.Reader // as the account of the process, which may see guards
	watcher *relation.Watcher
	gate    *reconcile.Gate
	install func(context.Context, client.Object) error // nil if this process does not install
	log     logr.Logger

	wanted  map[object.ID]client.Object
	other   map[object.ID]client.Object // the guards of an API server without MutatingAdmissionPolicy, which also count
	changed chan struct{}
	faults  atomic.Pointer[[]Fault]
	// protection reports the faults, and the webhooks that do not answer webhookCalls.ask.
	protection *protection
	calls      *webhookCalls // nil without webhooks
	failure    string        // the last error of look, which is logged once
	// unjudged is the error of the last doubt: objects written without a guard are still unjudged.
	unjudged atomic.Pointer[error]
	looked   atomic.Bool       // once, without a later look to wait for
	unseen   map[string]string // guards that the operator has no right to read, with what to do
	paused   bool              // while the gate is closed for missing guards
	settled  time.Time         // when the API server applies the restored guards

	recorder Recorder
	begun    bool                  // with the record of the last operator
	known    map[string]knownGuard // in force
	// kept and keptSince are the contents of the record as recordGuards last wrote the record.
	kept      map[string]knownGuard
	keptSince string

	mu    sync.Mutex
	since string // the resource version of the first deletion that was not dealt with
	// noticed says that a guard was deleted since the last look. The guard may exist again.
	noticed bool
	// pending are the guards that were changed since the last look, each with the resourceVersion
	// of its first change.
	pending map[object.ID]string
}

// NewMonitor adds the Monitor of a pack to a manager.Manager. The gate of the pack is closed until the Monitor has seen
// all guards.
func NewMonitor(
	o options.Options, base pack.Environment, live client.Client, p pack.Pack, gate *reconcile.Gate, mgr manager.Manager,
) (*Monitor, error) {
	mutating, err := ServesMutatingPolicies(o)
	if err != nil {
		return nil, err
	}
	g := &Monitor{
		pack: p, live: live, reader: base.Live, watcher: base.Watcher, gate: gate, install: base.Install,
		recorder: NewRecorder(base.Live, p.Name), pending: map[object.ID]string{}, known: map[string]knownGuard{},
		log: o.Log.WithName("guards").WithValues("pack", p.Name), changed: make(chan struct{}, 1),
	}
	if g.wanted, err = Templates(o.Installation(mutating), p, live); err != nil {
		return nil, err
	}
	if g.other, err = Templates(o.Installation(false), p, live); err != nil {
		return nil, err
	}
	g.faults.Store(&[]Fault{})
	keys := make([]string, 0, len(g.wanted))
	for _, id := range SortedIDs(g.wanted) {
		keys = append(keys, keyOf(id))
	}
	g.protection = newProtection(p.Name, keys, g.log)
	g.watcher.OnObject(func(c relation.Change) {
		id := c.Object().ID
		if g.wanted[id] != nil || g.other[id] != nil {
			g.seen(c)
			g.wake()
		}
	})
	return g, g.add(mgr)
}

// add adds guards to the manager.Manager, with the metrics kinship_guards_missing and
// kinship_guards_altered and a readiness check.
func (g *Monitor) add(mgr manager.Manager) error {
	for state, name := range map[guardState]string{missing: "kinship_guards_missing", Altered: "kinship_guards_altered"} {
		gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name, Help: "Webhook configurations, policies and bindings of a pack that are " + string(state) + ".",
			ConstLabels: prometheus.Labels{"pack": g.pack.Name},
		}, func() float64 { return float64(countFaults(*g.faults.Load(), state)) })
		if err := ctrlmetrics.Registry.Register(gauge); err != nil {
			return fmt.Errorf("register metrics of pack %s: %w", g.pack.Name, err)
		}
	}
	if err := ctrlmetrics.Registry.Register(g.protection); err != nil {
		return fmt.Errorf("register metrics of pack %s: %w", g.pack.Name, err)
	}
	if err := mgr.AddReadyzCheck("guards-"+g.pack.Name, func(*http.Request) error { return g.fault() }); err != nil {
		return fmt.Errorf("add readiness check of pack %s: %w", g.pack.Name, err)
	}
	g.gate.Close() // Until run has seen that all guards are there.
	if err := mgr.Add(reconcile.EveryReplica(g.run)); err != nil {
		return fmt.Errorf("add guards of pack %s: %w", g.pack.Name, err)
	}
	return nil
}

// CallWebhooks has the webhooks of the guards called at intervals, as the API server calls them.
func (g *Monitor) CallWebhooks(o options.Options, mgr manager.Manager, m *admission.Metrics) error {
	g.calls = newWebhookCalls(o, g.protection, m)
	if err := mgr.Add(reconcile.EveryReplica(g.calls.run)); err != nil {
		return fmt.Errorf("add guards of pack %s: %w", g.pack.Name, err)
	}
	return nil
}

func (g *Monitor) wake() {
	select {
	case g.changed <- struct{}{}:
	default: // A wake-up is pending already.
	}
}

// seen handles a relation.Change of a guard. For a deletion, seen moves Monitor.since back; for an
// update, seen sets Monitor.pending.
func (g *Monitor) seen(c relation.Change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.Old == nil || slices.Contains(g.pack.Enforced, c.Old.ID.Name) {
		return
	}
	// The watch may report a deletion and a creation as one Change with two different UIDs.
	if c.New != nil && c.New.UID == c.Old.UID {
		if g.pending[c.New.ID] == "" {
			g.pending[c.New.ID] = c.New.Version
		}
		return
	}
	g.noticed = true
	g.since = earlier(g.since, c.Old.Version)
}

// takeNoticed returns Monitor.noticed and resets it to false.
func (g *Monitor) takeNoticed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	noticed := g.noticed
	g.noticed = false
	return noticed
}

// takePending returns Monitor.pending and empties the map.
func (g *Monitor) takePending() map[object.ID]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	pending := g.pending
	g.pending = map[object.ID]string{}
	return pending
}

// putBack returns changes to Monitor.pending after assess has failed.
func (g *Monitor) putBack(pending map[object.ID]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, since := range pending {
		g.pending[id] = earlier(g.pending[id], since)
	}
}

// note moves Monitor.since back to a resourceVersion, so that doubt judges the objects written since
// then again.
func (g *Monitor) note(since string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.noticed = true
	g.since = earlier(g.since, since)
}

// fault returns an error with the missing and altered guards or, if all guards are in force,
// Monitor.unjudged.
func (g *Monitor) fault() error {
	if faults := *g.faults.Load(); len(faults) > 0 {
		return fmt.Errorf("%s: install it again, or run with --install", strings.Join(names(faults), ", "))
	}
	if err := g.unjudged.Load(); err != nil {
		return *err
	}
	return nil
}

// HasLooked reports whether the guards have been read once.
func (g *Monitor) HasLooked() bool { return g.looked.Load() }
