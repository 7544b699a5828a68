package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// guardRetry is the pause before guards that could not be read or restored are looked at again.
const guardRetry = 2 * time.Second

// guardSettles is how long the API server may take to apply a restored guard.
const guardSettles = time.Second

// guards watches the guards of one pack: webhook configurations, policies and their bindings.
// While a guard is missing, nobody judges the specs that people write. The gate then holds up
// the pack's reconcilers, so that no unjudged spec is acted on. With --install the operator
// restores the guard at once. guards runs in every replica.
type guards struct {
	pack    pack.Pack
	live    client.Client
	watcher *relation.Watcher
	gate    *reconcile.Gate
	install func(context.Context, client.Object) error // nil where somebody else installs
	log     logr.Logger

	wanted  map[object.ID]client.Object
	order   []object.ID // of wanted
	other   []object.ID // what may stand for all that is wanted: as an older API server has it
	changed chan struct{}
	missing atomic.Pointer[[]string]
	// unjudged is why the objects written without a guard could not be judged again.
	unjudged atomic.Pointer[error]
	paused   bool      // as long as the gate is closed for what is missing
	settled  time.Time // when the API server goes by what is there again

	mu    sync.Mutex
	since string // the resource version of the first deletion that was not dealt with
	// noticed says that a guard was deleted since the last look, which may be back already.
	noticed bool
}

func newGuards(
	o Options, base pack.Environment, live client.Client, p pack.Pack, gate *reconcile.Gate, mgr manager.Manager,
) (*guards, error) {
	mutating, err := servesMutatingPolicies(o)
	if err != nil {
		return nil, err
	}
	g := &guards{
		pack: p, live: live, watcher: base.Watcher, gate: gate, install: base.Install,
		wanted: map[object.ID]client.Object{},
		log:    o.Log.WithName("guards").WithValues("pack", p.Name), changed: make(chan struct{}, 1),
	}
	scheme := live.Scheme()
	ids := func(in pack.Installation, each func(object.ID, client.Object)) error {
		all, _ := split(p.Objects(in))
		for _, obj := range all {
			gvk, err := apiutil.GVKForObject(obj, scheme)
			if err != nil {
				return fmt.Errorf("identify %s: %w", obj.GetName(), err)
			}
			each(object.Of(obj, gvk.GroupKind()), obj)
		}
		return nil
	}
	if err := ids(o.installation(mutating), func(id object.ID, obj client.Object) {
		g.wanted[id], g.order = obj, append(g.order, id)
	}); err != nil {
		return nil, err
	}
	err = ids(o.installation(false), func(id object.ID, _ client.Object) { g.other = append(g.other, id) })
	if err != nil {
		return nil, err
	}
	g.missing.Store(&[]string{})
	g.watcher.OnObject(func(c relation.Change) {
		if _, ours := g.wanted[c.Object().ID]; ours {
			g.seen(c)
			g.wake()
		}
	})
	return g, g.add(mgr)
}

// add has the manager run it and tell what is missing.
func (g *guards) add(mgr manager.Manager) error {
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kinship_guards_missing", Help: "Webhook configurations, policies and bindings of a pack that do not exist.",
		ConstLabels: prometheus.Labels{"pack": g.pack.Name},
	}, func() float64 { return float64(len(*g.missing.Load())) })
	if err := ctrlmetrics.Registry.Register(gauge); err != nil {
		return fmt.Errorf("register metrics of pack %s: %w", g.pack.Name, err)
	}
	if err := mgr.AddReadyzCheck("guards-"+g.pack.Name, func(*http.Request) error { return g.fault() }); err != nil {
		return fmt.Errorf("add readiness check of pack %s: %w", g.pack.Name, err)
	}
	g.gate.Close() // Until it is known that all guards are there.
	if err := mgr.Add(always(g.run)); err != nil {
		return fmt.Errorf("add guards of pack %s: %w", g.pack.Name, err)
	}
	return nil
}

func (g *guards) wake() {
	select {
	case g.changed <- struct{}{}:
	default: // It is awake already.
	}
}

// seen notes since when a guard is missing.
func (g *guards) seen(c relation.Change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	// A guard that was created anew may be reported as a change of the former one.
	if c.Old == nil || c.New != nil && c.New.UID == c.Old.UID || slices.Contains(g.pack.Enforced, c.Old.ID.Name) {
		return
	}
	g.noticed = true
	order, err := resourceversion.CompareResourceVersion(c.Old.Version, g.since)
	if g.since == "" || err != nil || order < 0 {
		g.since = c.Old.Version
	}
}

// doubt has judged again what was written while a guard was missing.
func (g *guards) doubt(ctx context.Context) error {
	g.mu.Lock()
	since := g.since
	g.mu.Unlock()
	if since == "" || g.pack.Doubt == nil {
		return nil
	}
	if err := g.pack.Doubt(ctx, g.live, since); err != nil {
		return fmt.Errorf("judge again what was written since a guard was missing: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.since == since {
		g.since = ""
	}
	return nil
}

// takeNoticed reports whether a guard was deleted since the last call.
func (g *guards) takeNoticed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	noticed := g.noticed
	g.noticed = false
	return noticed
}

// fault returns which guards are missing, or why the pack is held up although none is.
func (g *guards) fault() error {
	if missing := *g.missing.Load(); len(missing) > 0 {
		return fmt.Errorf("%s missing: install it again, or run with --install", strings.Join(missing, ", "))
	}
	if err := g.unjudged.Load(); err != nil {
		return *err
	}
	return nil
}

// run looks at the guards whenever one of them changes.
func (g *guards) run(ctx context.Context) error {
	kinds := make([]schema.GroupKind, 0, len(g.order))
	for _, id := range g.order {
		kinds = append(kinds, id.GroupKind())
	}
	g.watcher.Use(object.ID{Kind: "Guards", Name: g.pack.Name}, kinds...)
	for {
		var again <-chan time.Time
		pause, err := g.look(ctx)
		if err != nil && ctx.Err() == nil {
			g.log.Error(err, "Guards may be missing")
			pause = guardRetry
		}
		if pause > 0 {
			again = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-g.changed:
		case <-again:
		}
	}
}

// look reads the guards, restores missing guards with --install, and closes the gate as long
// as a guard is missing. look returns the time until it has to be called again, or 0.
func (g *guards) look(ctx context.Context) (time.Duration, error) {
	missing, err := g.absent(ctx, g.order)
	if err != nil {
		return 0, err
	}
	if len(missing) > 0 && g.install == nil {
		other, err := g.absent(ctx, g.other)
		if err != nil {
			return 0, err
		}
		if len(other) == 0 {
			missing = nil
		}
	}
	if g.takeNoticed() { // Also where somebody has restored the guard meanwhile.
		g.gate.Close()
		g.paused = true
	}
	held := g.tell(missing)
	if g.install != nil && len(missing) > 0 {
		var failed []error
		for _, id := range missing {
			if err := g.install(ctx, g.wanted[id]); err != nil {
				failed = append(failed, fmt.Errorf("restore %s: %w", id, err))
			}
		}
		if err := errors.Join(failed...); err != nil {
			return 0, err
		}
		g.log.Info("Restored guards", "guards", names(missing))
		held = g.tell(nil)
	}
	if held {
		return 0, nil
	}
	return g.reopen(ctx)
}

// reopen opens the gate when what was written without the guards has been judged again. The
// API server goes by a guard a moment after that is there, so a closed gate stays closed for
// a second.
func (g *guards) reopen(ctx context.Context) (time.Duration, error) {
	if g.paused {
		g.paused, g.settled = false, time.Now().Add(guardSettles)
	}
	if pause := time.Until(g.settled); pause > 0 {
		return pause, nil
	}
	if err := g.doubt(ctx); err != nil {
		g.unjudged.Store(&err)
		return 0, err
	}
	g.unjudged.Store(nil)
	g.gate.Open()
	return 0, nil
}

// absent returns those of the guards that do not exist.
func (g *guards) absent(ctx context.Context, all []object.ID) ([]object.ID, error) {
	var missing []object.ID
	for _, id := range all {
		_, err := g.watcher.Live(ctx, id)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, id)
		case apierrors.IsForbidden(err):
			// An older installation does not give the right to see policies.
			g.log.Info("Can't see a guard, which may be missing: run once with --install",
				"guard", id.String(), "reason", err.Error())
		case err != nil:
			return nil, err
		}
	}
	return missing, nil
}

// tell logs the missing guards and closes the gate. A missing guard that the pack names in
// Enforced closes no gate: its reconcilers must go on telling users that nothing is enforced.
// tell reports whether it closed the gate.
func (g *guards) tell(missing []object.ID) (held bool) {
	before, now := *g.missing.Load(), names(missing)
	g.missing.Store(&now)
	held = slices.ContainsFunc(missing, func(id object.ID) bool { return !slices.Contains(g.pack.Enforced, id.Name) })
	if held {
		g.gate.Close()
		g.paused = true
	}
	switch {
	case slices.Equal(before, now):
	case len(now) > 0:
		slog.New(logr.ToSlogHandler(g.log)).Warn("Guards are missing", "reason", g.fault().Error(), "paused", held)
	default:
		g.log.Info("All guards are there again")
	}
	return held
}

func names(ids []object.ID) []string {
	all := make([]string, 0, len(ids))
	for _, id := range ids {
		all = append(all, id.Kind+" "+id.Name)
	}
	return all
}
