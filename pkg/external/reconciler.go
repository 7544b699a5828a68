package external

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// reconciler leads the objects of one kind through their lives. It only runs in
// the leader.
type reconciler[K Object, R any] struct {
	engine    *Engine
	kind      Kind[K, R]
	finalizer string
	observer  *observer[R]
	writes    reconcile.Writes
	claims    claims
	sharing   sharing
	turns     *turns
	memories  memories
}

// pass is one reconciliation of an object.
type pass[K Object, R any] struct {
	Input[K]

	id       object.ID
	memory   *memory
	before   K // as read, to find what changed
	actuator Actuator[K, R]
	scope    string
	place    string
	cloud    string
	sight    condition.Sight
	// altered is when another object's resource changed this one; zero if none did.
	altered time.Time
	// corrected says that something was changed outside.
	corrected bool
	// settled says that nothing had to be looked at.
	settled bool
	// late says that something is missing that the resource can be made without, and
	// does not serve before it has it.
	late bool
	// waits says that nothing was done but to see what is missing.
	waits bool
	// done says that the object is gone.
	done bool
	// site is the place that is called, as [Kind.Site] names it. entered says that the pass has
	// a turn there, and verdict what came of it.
	site    string
	entered bool
	verdict verdict
	// parked says that the pass ended without a turn, and unanswered that the place is not
	// asked because it fails.
	parked, unanswered bool
}

// step is one part of a pass.
type step[K Object, R any] = reconcile.Step[*pass[K, R]]

func (p *pass[K, R]) status() *sharedv1alpha1.ExternalStatus { return p.Object.GetExternalStatus() }

func (p *pass[K, R]) managed() bool {
	return p.Object.GetExternalSpec().ManagementPolicy != sharedv1alpha1.PolicyUnmanaged
}

// used returns what the references stood for. What an import was found by is not
// used any more.
func (p *pass[K, R]) used() []sharedv1alpha1.ObservedDependency {
	if !p.managed() {
		return nil
	}
	return observedTargets(p.Refs)
}

// Reconcile implements reconcile.TypedReconciler.
func (r *reconciler[K, R]) Reconcile(ctx context.Context, id object.ID) (ctrl.Result, error) {
	ctx, end := r.engine.Account(ctx)
	defer end()
	ctx = r.engine.Tenant(ctx, id.Namespace)
	r.turns.begin(id)
	defer r.turns.end(id)
	pause := r.sweep(ctx, id)
	res, err := r.lead(ctx, id)
	if err == nil && pause > 0 && (res.RequeueAfter == 0 || pause < res.RequeueAfter) {
		res.RequeueAfter = pause
	}
	return res, err
}

// lead leads the object that has a name by now through a pass.
func (r *reconciler[K, R]) lead(ctx context.Context, id object.ID) (ctrl.Result, error) {
	cached, memory := r.recall(id)
	if cached == nil {
		return ctrl.Result{}, nil
	}
	if r.writes.Unseen(id, cached.GetResourceVersion()) {
		// The watch brings what was written, and wakes nobody: it is our own.
		return ctrl.Result{RequeueAfter: reconcile.ConflictRetry}, nil
	}
	p := &pass[K, R]{id: id, before: cached.(K), memory: memory}
	p.Object = cached.DeepCopyObject().(K)
	var outcome reconcile.Outcome
	if cached.GetDeletionTimestamp() != nil {
		outcome = r.finish(ctx, p)
	} else {
		outcome = r.advance(ctx, p)
	}
	r.exit(p)
	return r.conclude(ctx, p, outcome)
}

// recall returns an object, or nil, with what is known of it. The cache is read once more
// then: as long as it shows the object, that has not been forgotten. Else the memory may be
// a new one, which does not know of a deletion that has ended, and which nobody would drop.
func (r *reconciler[K, R]) recall(id object.ID) (client.Object, *memory) {
	first := r.engine.core.Get(id)
	if first == nil {
		return nil, nil
	}
	uid := first.GetUID()
	known := r.memories.of(uid)
	if now := r.engine.core.Get(id); now != nil && now.GetUID() == uid {
		return now, known
	}
	if *known == (memory{}) { // What is known of it those who forget it drop.
		r.memories.drop(uid)
	}
	return nil, nil // The watch tells of it, or of another one of that name.
}

// advance leads an object through a pass; doc.go tells how.
func (r *reconciler[K, R]) advance(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	waiting := r.resolve(p, idOf(p.Object) != "")
	if o := r.keep(ctx, p); !o.IsDone() {
		return o
	}
	p.altered = r.engine.alterations.take(p.id)
	if p.altered.IsZero() && r.settle(p) {
		return reconcile.Outcome{}
	}
	p.memory.tried = p.Refs.Fingerprint()
	if o := r.askRestored(ctx, p); !o.IsDone() {
		return o
	}
	if idOf(p.Object) == "" && len(r.engine.strays.of(p.id)) > 0 { // Names may be unique.
		waiting = waiting.And(reconcile.Progress(condition.ReasonProgressing,
			"Waiting for what was made for another object of this name to be deleted"))
	}
	if !waiting.IsDone() {
		p.waits = true
		if p.late && idOf(p.Object) != "" {
			p.sight = condition.Lacking
		}
		return waiting
	}
	return reconcile.Run(ctx, p, step[K, R]{Name: "connect", Run: r.connect}, step[K, R]{Name: "hold", Run: r.hold},
		step[K, R]{Name: "obtain", Run: r.obtain})
}

// resolve finds the targets of the references, and returns an Outcome that names what is missing.
// Targets that were only needed to make the resource are left out once the resource exists;
// targets that complete it are not waited for before.
func (r *reconciler[K, R]) resolve(p *pass[K, R], exists bool) reconcile.Outcome {
	p.Refs = r.engine.core.Resolve(r.kind.GVK.GroupKind(), p.Object, exists)
	p.late = p.Refs.IsLate()
	return p.Refs.Waits()
}

// unsettled is no fingerprint: whatever wakes the object has it tried again.
const unsettled = "\n"

// settle reports whether nothing has changed since the last pass that ended.
func (r *reconciler[K, R]) settle(p *pass[K, R]) bool {
	status := p.status()
	c := meta.FindStatusCondition(status.Conditions, condition.Progressing)
	if c == nil || c.Status != "False" || c.ObservedGeneration != p.Object.GetGeneration() {
		return false
	}
	if c.Reason != condition.ReasonSuccess { // Nothing helps but what it relied on.
		p.settled = p.memory.tried == p.Refs.Fingerprint()
		if p.settled {
			p.memory.next = time.Time{} // Until then it is not compared either.
		}
		return p.settled
	}
	available := meta.FindStatusCondition(status.Conditions, condition.Available)
	if available == nil || available.ObservedGeneration != p.Object.GetGeneration() ||
		!slices.Equal(p.used(), status.ObservedDependencies) || r.due(p) {
		return false
	}
	p.settled = true
	return true
}

// keep puts back what was stripped: our finalizer, and the guards on targets.
func (r *reconciler[K, R]) keep(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if idOf(p.Object) == "" && r.intent(p) == nil {
		return reconcile.Outcome{} // Nothing was begun.
	}
	if slices.Contains(p.Object.GetFinalizers(), r.finalizer) {
		return r.engine.core.Hold(ctx, p.Refs)
	}
	return r.own(ctx, p, r.intent(p)).And(r.engine.core.Hold(ctx, p.Refs))
}

// connect gets what acts for the object, if the object has a turn.
func (r *reconciler[K, R]) connect(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if o := r.enter(ctx, p); !o.IsDone() {
		return o
	}
	access, err := r.kind.Connect(ctx, p.Input)
	p.actuator, p.scope, p.place, p.cloud = access.Actuator, access.Scope, access.Place, access.Cloud
	return r.failed(p, err)
}

// hold puts guards on what the object refers to.
func (r *reconciler[K, R]) hold(ctx context.Context, p *pass[K, R]) reconcile.Outcome {
	if o := r.engine.core.Hold(ctx, p.Refs); !o.IsDone() {
		return o
	}
	if slices.Contains(p.Object.GetFinalizers(), r.finalizer) {
		return reconcile.Outcome{}
	}
	if _, asked := p.Object.GetImport(); !asked && p.managed() && idOf(p.Object) == "" {
		return reconcile.Outcome{} // It comes with the intent, in one request.
	}
	return r.own(ctx, p, r.intent(p))
}

// failed turns an error of the API outside into what is to be done about it.
func (r *reconciler[K, R]) failed(p *pass[K, R], err error) reconcile.Outcome {
	known, ok := errors.AsType[*Error](err)
	if ok && known.Outage {
		p.verdict.failure = known
	}
	p.verdict.answered = p.verdict.answered || wasAnswered(err)
	switch {
	case err == nil:
		return reconcile.Outcome{}
	case !ok:
		return reconcile.Fail(condition.ReasonTransientError, err)
	case known.Class == Invalid:
		return reconcile.Refuse(condition.ReasonInvalidConfiguration, "%s", known.Message)
	case known.Class == Underway:
		return reconcile.Progress(condition.ReasonProgressing, "%s", known.Message)
	case known.After > 0:
		return reconcile.Retry(min(known.After, longestAsked), condition.ReasonTransientError, err)
	default:
		return reconcile.Fail(condition.ReasonTransientError, err)
	}
}

func isClass(err error, class Class) bool {
	known, ok := errors.AsType[*Error](err)
	return ok && known.Class == class
}

// wasAnswered reports whether an error says that nothing was done.
func wasAnswered(err error) bool {
	known, ok := errors.AsType[*Error](err)
	return ok && slices.Contains([]Class{Refused, Busy, Invalid, Missing}, known.Class)
}

// learn is told of every object: what a status records is nobody else's.
func (r *reconciler[K, R]) learn(obj client.Object) {
	o := obj.(K)
	if id := idOf(o); id != "" &&
		o.GetExternalSpec().ManagementPolicy != sharedv1alpha1.PolicyUnmanaged {
		r.claims.claim(r.claimed(r.cloudOf(o), o, id), o.GetUID())
	}
}

// forget drops what is remembered of an object that is gone, and has left nothing behind.
func (r *reconciler[K, R]) forget(id object.ID, uid types.UID) {
	r.writes.Forget(id)
	if r.engine.strays.has(id, uid) {
		r.stop(uid)
		return
	}
	r.drop(uid)
}

// stop ends what takes long.
func (r *reconciler[K, R]) stop(uid types.UID) {
	if r.kind.Pool != nil {
		r.kind.Pool.drop(uid)
	}
}

// drop drops what leads to a resource.
func (r *reconciler[K, R]) drop(uid types.UID) {
	r.stop(uid) // A pass may have begun it anew.
	r.memories.drop(uid)
	r.claims.drop(uid)
	r.sharing.drop(uid)
}

// result has a conflict tried again at once: a back-off made for failures would
// cost a second.
func result(o reconcile.Outcome) (ctrl.Result, error) {
	res, err := o.Result()
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: reconcile.ConflictRetry}, nil
	}
	return res, err
}

// memories are what is known of objects and lost at a restart.
type memories struct {
	mu      sync.Mutex
	all     map[types.UID]*memory
	waiting sets.Set[types.UID] // of all, those that wait for others
}

// memory is only touched by the one worker that has the object.
type memory struct {
	// tried is what the last pass relied on, or unsettled.
	tried string
	// refused says that the last attempt to create was answered: nothing was made.
	refused bool
	// repeated says that creation was asked for again after it was refused for what was gone
	// by then.
	repeated bool
	// began is the intent that was recorded last, and sent says that something was asked for
	// since the start.
	began *intent
	sent  bool
	// native says that an operator has put our finalizer on this very object.
	native bool
	// until is when an attempt to create that got no answer is over.
	until time.Time
	// next is when the resource is to be compared with the spec again.
	next time.Time
	// polls are the looks at something under way.
	polls polls
	// told is when the status was written that tells what is waited for; zero if it tells
	// something else.
	told time.Time
	// named are the holders that the status names. nil means none.
	named *heldBy
	// busy is why the resource could not be deleted yet.
	busy refusal
	// deleting says that a deletion was accepted.
	deleting bool
	// left is the version of the object that went without our finalizer.
	left string
}

// heldBy are objects that hold another one, by their finalizer.
type heldBy map[string]object.ID

// polls are planned looks: how many there were, and when the next one is.
type polls struct {
	done int
	next time.Time
}

// isOver reports whether a version of the object is one that had our finalizer for
// the last time.
func (m *memory) isOver(version string) bool {
	return version == m.left || object.Older(version, m.left)
}

func (m *memories) of(uid types.UID) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all, m.waiting = map[types.UID]*memory{}, sets.Set[types.UID]{}
	}
	if m.all[uid] == nil {
		m.all[uid] = &memory{}
	}
	return m.all[uid]
}

func (m *memories) drop(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, uid)
	m.waiting.Delete(uid)
}

// waits notes whether an object waits, and returns how many do. One that was dropped
// meanwhile does not.
func (m *memories) waits(uid types.UID, is bool) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is && m.all[uid] != nil {
		m.waiting.Insert(uid)
	} else {
		m.waiting.Delete(uid)
	}
	return m.waiting.Len()
}

// refreshes is the published text for a status that is written again in a moment.
const refreshes = "Resource status will be refreshed"

// refresh waits for what others wrote about the object, or are about to.
func (r *reconciler[K, R]) refresh() reconcile.Outcome {
	return reconcile.WaitFor(reconcile.ConflictRetry, condition.ReasonProgressing, refreshes)
}
