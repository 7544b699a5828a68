package usage

import (
	"context"
	"slices"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

const (
	// fieldOwner is the field manager of every write of the pack.
	fieldOwner = "kinship-usage"
	// workers is how many Usages, and how many locks, are worked on at the same time. The API
	// server is the limit.
	workers = 16
	// share is how many of them one namespace has while others are worked on. A set of 2,000 objects is 2,000 writes: with
	// 16 at once, each write of another tenant waits for 16 of them.
	share = 2
)

// parts are the parts of the pack, connected to each other.
type parts struct {
	env           pack.Environment
	mgr           manager.Manager
	options       Options
	store         usageStore
	writes        reconcile.Writes
	ledger        *ledger
	lock          *guard.Lock
	rules         *guard.Rules
	metrics       *metrics
	usages, locks reconcile.Queue
}

// setup adds the controllers and the admission handlers of the pack to a manager.
func setup(ctx context.Context, mgr manager.Manager, env pack.Environment, options Options) error {
	p := &parts{env: env, mgr: mgr, options: options.withDefaults(), ledger: newLedger(env.Watcher)}
	p.lock = &guard.Lock{
		Label: lockLabel, Value: lockValue, Hold: p.ledger.Hold,
		Watcher: env.Watcher, Metadata: env.Metadata, FieldOwner: fieldOwner,
	}
	p.rules = &guard.Rules{
		Client: env.Live, Configuration: webhookConfiguration, FieldOwner: fieldOwner,
		Refuser: webhookName, Evictions: evictionsName,
		Held: p.ledger.Declared, Watcher: env.Watcher, Metadata: env.Metadata,
		Enforcer: pack.NewEnforcer(env, refusing(env.Installation, env.Enforcement)),
		Lost:     p.reconcileAll, Log: mgr.GetLogger().WithName("rules"),
	}
	if env.Enforcement == pack.ByPolicy {
		p.rules.Configuration, p.rules.Refuser = "", refusePolicy
	}
	p.ledger.admission, p.ledger.get, p.ledger.grants = env.Enforcement == pack.ByWebhook, p.store.get, p.store.grants
	p.ledger.Mark, p.ledger.Unread, p.ledger.KindsChanged = p.lock, p.unread, p.rules.Changed
	p.ledger.Declarer, p.ledger.Target = p.usages.Add, p.locks.Add
	env.Watcher.OnObject(p.lock.Seen)
	env.Watcher.OnObject(p.ledger.Changed)
	env.Watcher.OnObject(p.lockRemoved)
	env.Watcher.OnObject(p.rules.ObjectChanged)
	env.Watcher.OnKind(p.ledger.kindChanged)
	p.metrics = newMetrics()
	if err := p.metrics.register(p.ledger, &p.store); err != nil {
		return err
	}
	for _, add := range []func(context.Context) error{p.addInformers, p.addControllers, p.addHandlers} {
		if err := add(ctx); err != nil {
			return err
		}
	}
	return nil
}

// addInformers adds the informers of Usages and ReferenceGrants, which run in every replica.
func (p *parts) addInformers(ctx context.Context) error {
	for _, k := range kinds {
		if err := p.store.open(ctx, p.mgr.GetCache(), k.GroupKind(), k.new(), watch.Handler(p.usageChanged)); err != nil {
			return err
		}
	}
	return p.store.open(ctx, p.mgr.GetCache(), grantKind, &kinshipv1alpha1.ReferenceGrant{},
		watch.Handler(func(watch.Change[client.Object]) { p.grantsChanged() }))
}

// addControllers adds the controllers of Usages and of locks, and the tasks of the leader.
func (p *parts) addControllers(context.Context) error {
	recorder := p.mgr.GetEventRecorder(fieldOwner)
	usages := (&reconciler{
		client: p.mgr.GetClient(), metadata: p.env.Metadata, watcher: p.env.Watcher,
		writer: reconcile.Writer{Client: p.mgr.GetClient(), FieldOwner: fieldOwner, Writes: &p.writes},
		ledger: p.ledger, lock: p.lock, rules: p.rules, reviewer: p.env.Reviewer,
		events: recorder, ended: newEndedEvents(recorder), clock: clock.RealClock{}, options: p.options, metrics: p.metrics,
	}).init(&p.writes)
	// A kind that is installed later can have Usages that the sweep does not know.
	served := p.env.Watcher.Served()
	sweep := func(ctx context.Context) error { return p.sweep(ctx, served) }
	for _, run := range []manager.RunnableFunc{p.rules.Start, sweep} {
		// Before every Usage is known, a locked object would look unused.
		if err := p.mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
			if !p.store.wait(ctx) {
				return nil
			}
			return run(ctx)
		})); err != nil {
			return err
		}
	}
	for _, c := range p.controllers(usages) {
		if err := c.AddTo(p.mgr); err != nil {
			return err
		}
	}
	return nil
}

// controllers returns the controllers of Usages and of locks.
func (p *parts) controllers(usages *reconciler) []reconcile.Controller {
	all := []reconcile.Controller{
		{Name: "usage", Reconciler: usages, Queue: &p.usages, All: p.store.ids},
		{Name: "usage-lock", Reconciler: p.lock, Queue: &p.locks, All: p.ledger.WronglyMarked},
	}
	for i := range all {
		all[i].Workers, all[i].Share, all[i].Heard = workers, share, p.store.wait
	}
	return all
}

// addHandlers adds the admission handlers, which run in every replica.
func (p *parts) addHandlers(context.Context) error {
	if p.env.Enforcement != pack.ByWebhook {
		return nil
	}
	usages := &usageHandler{
		ledger: p.ledger, reviewer: p.env.Reviewer, operators: p.env.Operators,
		limit: p.options.MaxPerNamespace, number: p.store.number,
	}
	deletions := &deletionHandler{
		ledger: p.ledger, lock: p.lock, live: p.env.Live, client: p.mgr.GetClient(), get: p.store.get,
		reviewer: p.env.Reviewer, origin: p.env.Origin, events: p.mgr.GetEventRecorder(fieldOwner), clock: clock.RealClock{},
		metrics: p.metrics, operators: p.env.Accounts, expiry: p.options.ReplayExpiry,
	}
	server := p.mgr.GetWebhookServer()
	server.Register(refusePath, &webhook.Admission{Handler: deletions})
	server.Register(validatePath, &webhook.Admission{Handler: usages})
	server.Register(defaultPath, &webhook.Admission{Handler: admission.HandlerFunc(usages.Default)})
	return p.mgr.AddReadyzCheck("usages", p.store.check)
}

// sweep removes locks that were left on objects of kinds that no Usage names, while no operator
// ran.
func (p *parts) sweep(ctx context.Context, served []watch.Kind) error {
	if p.unread() {
		p.mgr.GetLogger().Info("Locks without a known Usage are kept: a Usage can't be read")
		return nil
	}
	held := p.ledger.Declared.TargetKinds()
	unused := slices.DeleteFunc(served, func(m watch.Kind) bool { return slices.Contains(held, m.GroupKind()) })
	if err := p.lock.Sweep(ctx, unused); err != nil && ctx.Err() == nil {
		p.mgr.GetLogger().Error(err, "Locks may be left on objects that no Usage names")
	}
	return nil
}
