package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinship-dev/kinship/internal/admission"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// guardRetry is the pause before look runs again after an error.
const guardRetry = 2 * time.Second

// guardSettles is how long the API server may take to apply a restored guard.
const guardSettles = time.Second

// guards watches the guards of one pack: webhook configurations, policies and their bindings. While
// a guard is missing, the API server admits specs that no webhook or policy has judged.
// reconcile.Gate then stops the pack's reconcilers, so that no reconciler acts on an unjudged spec.
// With --install, guards restores the guard at once. Every replica runs guards.
type guards struct {
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
	faults  atomic.Pointer[[]fault]
	// protection reports the faults, and the webhooks that do not answer answering.call.
	protection *protection
	answering  *answering // nil without webhooks
	failure    string     // the last error of look, which is logged once
	// unjudged is the error of the last doubt: objects written without a guard are still unjudged.
	unjudged atomic.Pointer[error]
	looked   atomic.Bool       // once, without a later look to wait for
	unseen   map[string]string // guards that the operator has no right to read, with what to do
	paused   bool              // while the gate is closed for missing guards
	settled  time.Time         // when the API server applies the restored guards

	recorder recorder
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

func newGuards(
	o Options, base pack.Environment, live client.Client, p pack.Pack, gate *reconcile.Gate, mgr manager.Manager,
) (*guards, error) {
	mutating, err := servesMutatingPolicies(o)
	if err != nil {
		return nil, err
	}
	g := &guards{
		pack: p, live: live, reader: base.Live, watcher: base.Watcher, gate: gate, install: base.Install,
		recorder: recorder{base.Live, p.Name}, pending: map[object.ID]string{}, known: map[string]knownGuard{},
		log: o.Log.WithName("guards").WithValues("pack", p.Name), changed: make(chan struct{}, 1),
	}
	if g.wanted, err = guardTemplates(o.installation(mutating), p, live); err != nil {
		return nil, err
	}
	if g.other, err = guardTemplates(o.installation(false), p, live); err != nil {
		return nil, err
	}
	g.faults.Store(&[]fault{})
	keys := make([]string, 0, len(g.wanted))
	for _, id := range order(g.wanted) {
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
func (g *guards) add(mgr manager.Manager) error {
	for state, name := range map[guardState]string{missing: "kinship_guards_missing", altered: "kinship_guards_altered"} {
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

// answer starts an answering, which calls the guards' webhooks at intervals.
func (g *guards) answer(o Options, mgr manager.Manager, m *admission.Metrics) error {
	g.answering = newAnswering(o, g.protection, m)
	if err := mgr.Add(reconcile.EveryReplica(g.answering.run)); err != nil {
		return fmt.Errorf("add guards of pack %s: %w", g.pack.Name, err)
	}
	return nil
}

func (g *guards) wake() {
	select {
	case g.changed <- struct{}{}:
	default: // A wake-up is pending already.
	}
}

// seen handles a relation.Change of a guard. For a deletion, seen moves guards.since back; for an
// update, seen sets guards.pending.
func (g *guards) seen(c relation.Change) {
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

// doubt calls pack.Doubt, which judges the objects written since guards.since again, and then
// clears record.Since.
func (g *guards) doubt(ctx context.Context) error {
	g.mu.Lock()
	since := g.since
	g.mu.Unlock()
	if since == "" {
		return nil
	}
	if g.pack.Doubt != nil {
		if err := g.pack.Doubt(ctx, g.live, since); err != nil {
			return fmt.Errorf("judge again what was written since a guard was missing: %w", err)
		}
	}
	err := g.recorder.change(ctx, func(r *record) {
		if r.Since == since {
			r.Since = ""
		}
	})
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.since == since {
		g.since = ""
	}
	return nil
}

// takeNoticed returns guards.noticed and resets it to false.
func (g *guards) takeNoticed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	noticed := g.noticed
	g.noticed = false
	return noticed
}

// takePending returns guards.pending and empties the map.
func (g *guards) takePending() map[object.ID]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	pending := g.pending
	g.pending = map[object.ID]string{}
	return pending
}

// putBack returns changes to guards.pending after assess has failed.
func (g *guards) putBack(pending map[object.ID]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, since := range pending {
		g.pending[id] = earlier(g.pending[id], since)
	}
}

// note moves guards.since back to a resourceVersion, so that doubt judges the objects written since
// then again.
func (g *guards) note(since string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.noticed = true
	g.since = earlier(g.since, since)
}

// fault returns an error with the missing and altered guards or, if all guards are in force,
// guards.unjudged.
func (g *guards) fault() error {
	if faults := *g.faults.Load(); len(faults) > 0 {
		return fmt.Errorf("%s: install it again, or run with --install", strings.Join(names(faults), ", "))
	}
	if err := g.unjudged.Load(); err != nil {
		return *err
	}
	return nil
}

// run calls look at the start, at each change of a guard, and after the pause that look returns.
func (g *guards) run(ctx context.Context) error {
	kinds := make([]schema.GroupKind, 0, len(g.wanted))
	for _, id := range order(g.wanted) {
		kinds = append(kinds, id.GroupKind())
	}
	g.watcher.Use(object.ID{Kind: "Guards", Name: g.pack.Name}, kinds...)
	for {
		var again <-chan time.Time
		pause, err := g.look(ctx)
		if err != nil && ctx.Err() == nil {
			if !sameError(err.Error(), g.failure) {
				g.log.Error(err, "Guards can't be read or restored; the operator tries again")
			}
			pause = guardRetry
		}
		g.failure = textOf(err)
		if pause == 0 || err != nil {
			g.looked.Store(true)
		}
		if pause > 0 {
			again = time.After(pause)
		}
		select {
		case <-ctx.Done():
			g.leave(context.WithoutCancel(ctx))
			return nil
		case <-g.changed:
		case <-again:
		}
	}
}

// textOf returns err.Error(), or "" for nil.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// leave calls recorder.touch at the end of the operator, if all guards are in force.
func (g *guards) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, presenceTimeout)
	defer cancel()
	if len(*g.faults.Load()) > 0 || !g.begun {
		return
	}
	if err := g.recorder.touch(ctx); err != nil {
		g.log.Info("What is written until the next operator starts may be judged again", "reason", err.Error())
	}
}

// look reads the guards, restores missing and altered guards with --install, and closes
// reconcile.Gate while a guard is missing or altered. look returns the pause until the next look; 0
// means until a guard changes.
func (g *guards) look(ctx context.Context) (time.Duration, error) {
	g.closeIfNoticed() // Before the reads, which may fail.
	faults, err := g.read(ctx)
	if err != nil {
		if ctx.Err() == nil {
			g.tellUnread(err)
		}
		return 0, err
	}
	g.closeIfNoticed() // Also if another process has restored the guard meanwhile.
	held := g.tell(faults)
	if err := g.recordGuards(ctx); err != nil {
		return 0, err
	}
	if g.install != nil && len(faults) > 0 {
		if held, err = g.restore(ctx, faults, held); err != nil {
			return 0, err
		}
	}
	if held {
		return 0, nil
	}
	return g.reopen(ctx)
}

// restore restores guards, and reports whether the gate stays closed. Guards that the last installation left out stay
// faults (see restorer).
func (g *guards) restore(ctx context.Context, faults []fault, held bool) (bool, error) {
	var failed []error
	var left []fault
	for _, f := range faults {
		err := g.install(ctx, g.wanted[f.id])
		if superseded := (*guard.Fault)(nil); errors.As(err, &superseded) {
			if len(left) == 0 {
				g.log.V(1).Info("Guards are not restored", "reason", superseded.Message)
			}
			left = append(left, f)
		} else if err != nil {
			failed = append(failed, fmt.Errorf("restore %s: %w", f.id, err))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return held, err
	}
	if len(left) == len(faults) {
		return held, nil
	}
	g.log.Info("Restored guards", "guards", names(faults))
	return g.tell(left), nil
}

// read reads the record of the last operator and the guards, and returns the faults. The gate is closed
// after a guard was changed that can't be read: the guard may be altered.
func (g *guards) read(ctx context.Context) ([]fault, error) {
	if err := g.begin(ctx); err != nil {
		return nil, err
	}
	pending := g.takePending()
	faults, err := g.assess(ctx, pending)
	if err != nil {
		g.putBack(pending)
		if len(pending) > 0 {
			g.pause()
		}
		return nil, err
	}
	return faults, nil
}

// pause closes the gate until reopen.
func (g *guards) pause() {
	g.gate.Close()
	g.paused = true
}

// closeIfNoticed closes the gate if a guard was deleted since the last call.
func (g *guards) closeIfNoticed() {
	if g.takeNoticed() {
		g.pause()
	}
}

// reopen opens the gate after the objects that were written without the guards have been judged
// again. The API server applies a guard a moment after its creation, so a closed gate stays
// closed for a second.
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
