package usage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Options of the pack.
type Options struct {
	// GracePeriod is how long a deleted Usage that is not composed waits for the
	// deletion of its using object to begin. Zero means five seconds.
	GracePeriod time.Duration
	// ReplayExpiry is how long a refused deletion is remembered. Zero means a day.
	ReplayExpiry time.Duration
	// MaxPerNamespace is how many Usages may be created in one namespace. Zero means any
	// number.
	MaxPerNamespace int
	// Kinds are the resources that Usages may protect, and Using those that may use them
	// besides. The pack has rights to these alone. No Kinds means any.
	Kinds, Using []schema.GroupResource
	// Namespaces are those that the operator works in. None means all.
	Namespaces []string
}

// workers is how many Usages, and how many locks, are worked on at once. The API
// server is what limits them.
const workers = 16

func (o Options) withDefaults() Options {
	if o.GracePeriod == 0 {
		o.GracePeriod = 5 * time.Second
	}
	if o.ReplayExpiry == 0 {
		o.ReplayExpiry = 24 * time.Hour
	}
	return o
}

// parts are the pack's working parts, wired to each other.
type parts struct {
	env     pack.Environment
	mgr     manager.Manager
	ledger  *ledger
	lock    *guard.Lock
	rules   *guard.Rules
	metrics *metrics
	usages  reconcile.Queue
	locks   reconcile.Queue
	stores  map[schema.GroupKind]toolscache.Store // what the informers hold; read only
	synced  []toolscache.InformerSynced
}

// Setup adds the pack's controllers and handlers to a manager.
func Setup(ctx context.Context, mgr manager.Manager, env pack.Environment, options Options) error {
	p := &parts{env: env, mgr: mgr, stores: map[schema.GroupKind]toolscache.Store{}}
	p.ledger = newLedger(env.Watcher)
	p.ledger.Declarer, p.ledger.Target = p.usages.Add, p.locks.Add
	p.ledger.trusting = env.Enforcement == pack.ByWebhook
	p.ledger.get, p.ledger.grants, p.ledger.unread = p.get, p.grants, p.unread
	p.lock = &guard.Lock{
		Label: lockLabel, Value: lockValue, Hold: p.ledger.hold,
		Watcher: env.Watcher, Metadata: env.Metadata, FieldOwner: fieldOwner,
	}
	p.ledger.Mark = p.lock
	var err error
	if p.metrics, err = newMetrics(ctrlmetrics.Registry, p.ledger); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	p.keepRules()
	env.Watcher.OnObject(p.lock.Seen)
	env.Watcher.OnObject(p.ledger.objectChanged)
	env.Watcher.OnObject(p.restored)
	env.Watcher.OnKind(p.ledger.kindChanged)
	if err := p.listen(ctx); err != nil {
		return err
	}
	if err := p.control(options.withDefaults()); err != nil {
		return err
	}
	return p.serve(options.withDefaults())
}

// fieldOwner is the field manager of everything that the pack writes.
const fieldOwner = "kinship-usage"

// keepRules has the webhook's rules follow the kinds that are held.
func (p *parts) keepRules() {
	p.rules = &guard.Rules{
		Client: p.env.Live, Configuration: webhookConfiguration, FieldOwner: fieldOwner, Refuser: webhookName,
		Evictions: evictionsName, Held: p.ledger.Declared, Watcher: p.env.Watcher, Metadata: p.env.Metadata,
		Enforcer: newEnforcer(p.env), Lost: p.reconsider, Log: p.mgr.GetLogger().WithName("rules"),
	}
	if p.env.Enforcement == pack.ByPolicy {
		p.rules.Configuration, p.rules.Refuser = "", refusePolicy
	}
	p.ledger.KindsChanged = p.rules.Changed
	p.env.Watcher.OnObject(p.rules.ObjectChanged)
}

// reconsider has every Usage looked at again.
func (p *parts) reconsider() {
	for _, u := range p.all() {
		p.usages.Add(identify(u))
	}
}

// listen feeds the ledger, in every replica.
func (p *parts) listen(ctx context.Context) error {
	for _, k := range kinds {
		err := p.hear(ctx, k.GroupKind(), k.new(), watch.Handler(func(c watch.Change[usage]) {
			if c.Went() {
				p.ledger.declare(identify(c.Old))
				p.ledger.Declarer(identify(c.Old))
				return
			}
			p.ledger.declare(identify(c.New))
		}))
		if err != nil {
			return err
		}
	}
	return p.hear(ctx, grantKind, &kinshipv1alpha1.ReferenceGrant{},
		watch.Handler(func(watch.Change[client.Object]) { p.grantsChanged() }))
}

// grantKind is the kind that lets Usages reach into other namespaces.
var grantKind = kinshipv1alpha1.GroupVersion.WithKind("ReferenceGrant").GroupKind()

func (p *parts) hear(
	ctx context.Context, gk schema.GroupKind, obj client.Object, handler toolscache.ResourceEventHandler,
) error {
	informer, err := watch.Open(ctx, p.mgr.GetCache(), gk, obj)
	if err != nil {
		return err
	}
	synced, err := informer.Listen(handler)
	if err != nil {
		return fmt.Errorf("watch %s: %w", gk, err)
	}
	p.stores[gk], p.synced = informer.GetStore(), append(p.synced, synced)
	return nil
}

// unread reports whether a Usage exists that can't be read. What it protects is not known.
func (p *parts) unread() bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return p.env.Health.Unreadable(k.GroupKind()) > 0 })
}

// grantsChanged has every Usage looked at again that reaches into another
// namespace.
func (p *parts) grantsChanged() {
	for _, u := range p.all() {
		if reachesOut(u) {
			p.ledger.declare(identify(u))
		}
	}
}

// control adds the controllers: one for Usages, one for locks.
func (p *parts) control(options Options) error {
	recorder := p.mgr.GetEventRecorder("kinship-usage")
	live := &reconciler{
		client: p.mgr.GetClient(), metadata: p.env.Metadata, watcher: p.env.Watcher,
		ledger: p.ledger, lock: p.lock, asked: p.rules, reviewer: p.env.Reviewer,
		events: recorder, endings: newEndings(recorder), clock: clock.RealClock{},
		options: options, metrics: p.metrics, get: p.get,
	}
	// Of kinds that are not known yet, nobody may have said what he holds when they
	// are swept.
	known := p.env.Watcher.Served()
	for _, run := range []leading{p.rules.Start, func(ctx context.Context) error { return p.sweep(ctx, known) }} {
		// Who has not heard of all that is held takes the rest for free.
		if err := p.mgr.Add(leading(func(ctx context.Context) error {
			if !p.heard(ctx) {
				return nil
			}
			return run(ctx)
		})); err != nil {
			return err
		}
	}
	if err := p.controller("usage", live, &p.usages, func() []object.ID {
		all := p.all()
		ids := make([]object.ID, 0, len(all))
		for _, u := range all {
			ids = append(ids, identify(u))
		}
		return ids
	}); err != nil {
		return err
	}
	return p.controller("usage-lock", p.lock, &p.locks, p.wrongLocks)
}

func (p *parts) controller(
	name string, r ctrlreconcile.TypedReconciler[object.ID], q *reconcile.Queue, all func() []object.ID,
) error {
	return reconcile.Controller{
		Name: name, Reconciler: r, Queue: q, Workers: workers, Heard: p.heard, All: all,
	}.AddTo(p.mgr)
}

// heard waits until the ledger knows every Usage and every grant that was there
// when the operator started, and reports whether it came to that. Before, it
// takes what it has not heard of for what does not exist.
func (p *parts) heard(ctx context.Context) bool {
	return toolscache.WaitForCacheSync(ctx.Done(), p.synced...)
}

// wrongLocks returns the objects in use whose lock is not as it should be, which
// can be when the last leader ended at the wrong moment.
func (p *parts) wrongLocks() []object.ID {
	var ids []object.ID
	for _, gk := range p.ledger.Declared.TargetKinds() {
		for _, obj := range p.ledger.Marked(gk) {
			if p.lock.Wrong(obj) {
				ids = append(ids, obj.ID)
			}
		}
	}
	return ids
}

// sweep takes off the locks that were left behind on objects of kinds that
// nothing is held of, while no operator ran.
func (p *parts) sweep(ctx context.Context, known []watch.Kind) error {
	if p.unread() {
		p.mgr.GetLogger().Info("Locks that nobody seems to need are left: a Usage can't be read")
		return nil
	}
	held := p.ledger.Declared.TargetKinds()
	left := slices.DeleteFunc(known, func(m watch.Kind) bool {
		return slices.Contains(held, m.GroupKind())
	})
	if err := p.lock.Sweep(ctx, left); err != nil && ctx.Err() == nil {
		p.mgr.GetLogger().Error(err, "Locks may be left on objects that nobody uses")
	}
	return nil
}

// serve adds the admission handlers.
func (p *parts) serve(options Options) error {
	if p.env.Enforcement != pack.ByWebhook {
		return nil
	}
	validator := &validator{
		ledger: p.ledger, reviewer: p.env.Reviewer, operators: p.env.Operators,
		most: options.MaxPerNamespace, number: p.number,
	}
	refuser := &refuser{
		ledger: p.ledger, lock: p.lock, live: p.env.Live, status: p.mgr.GetClient(), get: p.get, reviewer: p.env.Reviewer,
		events: p.mgr.GetEventRecorder("kinship-usage"), clock: clock.RealClock{}, metrics: p.metrics,
		operators: p.env.Operators, expiry: options.ReplayExpiry,
	}
	server := p.mgr.GetWebhookServer()
	server.Register(refusePath, &webhook.Admission{Handler: refuser})
	server.Register(validatePath, &webhook.Admission{Handler: validator})
	server.Register(defaultPath, &webhook.Admission{Handler: admission.HandlerFunc(validator.Default)})
	return p.mgr.AddReadyzCheck("usages", func(*http.Request) error {
		for _, synced := range p.synced {
			if !synced() {
				return errors.New("still reading Usages")
			}
		}
		return nil
	})
}

// restored tells about a lock that somebody took off and that is being put back.
func (p *parts) restored(c relation.Change) {
	if c.Old == nil || c.New == nil || !p.locks.Running() || !p.lock.On(*c.Old) || p.lock.On(*c.New) ||
		p.ledger.hold(*c.New) != relation.Held {
		return
	}
	mapping, err := p.env.Watcher.Mapping(c.New.ID.GroupKind().WithVersion(""))
	if err != nil {
		return
	}
	ref := referenceTo(mapping.Resource.GroupVersion().String(), c.New.ID)
	ref.UID = c.New.UID
	p.mgr.GetEventRecorder("kinship-usage").Eventf(ref, nil, "Warning", "LockRestored", "Protect",
		"label %s was removed while the object is in use; it is put back", lockLabel)
}

// leading is something to run in the leader only.
type leading func(context.Context) error

// Start implements manager.Runnable.
func (f leading) Start(ctx context.Context) error { return f(ctx) }
