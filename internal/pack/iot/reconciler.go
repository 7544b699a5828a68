package iot

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/iot"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Reasons of conditions.
const (
	reasonAvailable   = "Available"
	reasonProgressing = "Progressing"
	reasonInvalid     = "Invalid"
	reasonNameTaken   = "NameTaken"
	reasonTerminating = "Terminating"
	reasonNoProgress  = "ProgressDeadlineExceeded"
	reasonFailed      = "Failed"
	reasonDeleting    = "Deleting"
	reasonRefused     = "DeletionRefused"
	reasonVetoed      = "Refused"
)

// refusedRetry is how long until something is tried again that somebody did not let us
// do. One who locks with a label what is to be deleted is noticed at once when he takes that
// off.
const refusedRetry = time.Minute

// reconciler carries one IotConnector through its life. It only runs in the leader.
type reconciler struct {
	client   client.Client // reads from the cache
	applier  *apply.Applier
	view     *view
	blocked  *blocked
	events   events.EventRecorder
	clock    clock.PassiveClock
	identity Identity
	writes   reconcile.Writes
	reports  reports
}

// pass is what one reconciliation knows and changes.
type pass struct {
	*iotv1alpha1.IotConnector

	id   object.ID
	seen iotv1alpha1.IotConnectorStatus // as recorded, to find what changed
	have []apply.Entry                  // what there is, as the pass began
	// fresh says that no version was known to run as the pass began.
	fresh bool
	// recheck is when to look again at what the view should show by then.
	recheck time.Duration
}

// owner returns the reference by which everything belongs to the connector.
func (p *pass) owner() metav1.OwnerReference {
	version, kind := connectorKind.ToAPIVersionAndKind()
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: p.Name, UID: p.UID}
}

// switching reports whether the version that runs is not the one that is wanted, or not
// known, or something of the other one is still there. The status alone does not tell:
// whoever turns back while the last of the former version goes is at the version that it
// tells, and has nothing that serves but the other's.
func (p *pass) switching() bool {
	version := p.Spec.EffectiveVersion()
	return p.Status.Version == nil || *p.Status.Version != version ||
		slices.ContainsFunc(p.have, func(e apply.Entry) bool {
			// No entry of version 1 may have the connector's name.
			former := (e.Name == p.Name) != (version == iotv1alpha1.Version0)
			return former && e.GroupKind() == deploymentKind.GroupKind()
		})
}

// goesDown refuses a version below the one that runs, unless it is rolled back to.
// Where admission asks nobody, nobody else has looked.
func (p *pass) goesDown() error {
	if p.Status.Version == nil {
		return nil
	}
	return goingDown(*p.Status.Version, p.IotConnector, p.Status.Previous)
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &iotv1alpha1.IotConnector{}
	id := object.ID{
		Group: connectorKind.Group, Kind: connectorKind.Kind, Namespace: req.Namespace, Name: req.Name,
	}
	if err := r.client.Get(ctx, req.NamespacedName, c); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(id)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read %s: %w", id, err)
	}
	if r.writes.Unseen(id, c.ResourceVersion) {
		// The watch brings what was written, and wakes nobody: it is our own.
		return ctrl.Result{RequeueAfter: reconcile.ConflictRetry}, nil
	}
	p := &pass{IotConnector: c, id: id, seen: *c.Status.DeepCopy()}
	p.Status = *r.reports.known(p)
	p.fresh = p.Status.Version == nil
	if c.DeletionTimestamp != nil {
		return r.finish(ctx, p)
	}
	if !controllerutil.ContainsFinalizer(c, finalizer) {
		return r.result(r.changeFinalizer(ctx, p, controllerutil.AddFinalizer))
	}
	return r.conclude(ctx, p, r.compose(ctx, p))
}

// result has a conflict tried again at once: somebody wrote first, and a back-off
// made for failures would cost a second.
func (r *reconciler) result(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: reconcile.ConflictRetry}, nil
	}
	return ctrl.Result{}, err
}

// compose makes everything that the connector is made of, and returns what is
// still missing.
func (r *reconciler) compose(ctx context.Context, p *pass) reconcile.Outcome {
	if err := iot.Validate(p.Name, &p.Spec); err != nil {
		return reconcile.Refuse(reasonInvalid, "%s", err.Error())
	}
	if err := p.goesDown(); err != nil {
		return reconcile.Refuse(reasonInvalid, "%s", err.Error())
	}
	want, err := r.render(p)
	if err != nil {
		return reconcile.Refuse(reasonInvalid, "%s", err.Error())
	}
	r.recordPrevious(p)
	p.Status.Identity = identity{p.IotConnector, r.identity}.status()
	p.have = r.have(p)
	if o := r.askRestored(p, want); !o.IsDone() {
		return o
	}
	if err := r.adopt(ctx, p, want); err != nil {
		return failures(err)
	}
	if err := r.keepNumber(ctx, p, want); err != nil {
		return failures(err)
	}
	result, err := r.applier.Apply(ctx, apply.Request{
		Owner: p.owner(), Have: p.have, Want: want,
		Record: func(ctx context.Context, all []apply.Entry) error {
			return r.record(ctx, p, all, want)
		},
		MayPrune: func() bool {
			return !p.switching() || (r.readiness(want, nil).IsDone() && r.asMany(p, want))
		},
	})
	if err == nil {
		err = r.scale(ctx, p, want)
	}
	p.Status.Inventory = inventory(result.Inventory, r.ready)
	r.tell(ctx, p, result.Changes)
	foreign := result.Changes.Of(apply.Foreign)
	outcome := failures(err).And(r.obstacles(p, result.Changes)).And(r.readiness(want, foreign))
	if err == nil && len(result.Changes.Of(apply.Kept, apply.Refused, apply.Foreign, apply.Terminating)) == 0 {
		version := p.Spec.EffectiveVersion()
		p.Status.Version = &version
		if version == iotv1alpha1.Version0 {
			p.Status.Previous = nil
		}
	}
	if !outcome.IsDone() {
		p.recheck = max(p.recheck, result.Recheck)
	}
	return outcome
}

// render returns what a connector is made of.
func (r *reconciler) render(p *pass) ([]apply.Object, error) {
	id := identity{p.IotConnector, r.identity}
	want := id.render()
	var deployments []deployment
	if p.Spec.EffectiveVersion() == iotv1alpha1.Version0 {
		deployments = version0(p.IotConnector, r.selector(p))
	} else {
		deployments = version1(p.IotConnector)
	}
	for _, d := range deployments {
		obj, err := d.render(id)
		if err != nil {
			return nil, err
		}
		want = append(want, obj)
	}
	return want, nil
}

// selector returns that of the connector's own Deployment, if there is one.
func (r *reconciler) selector(p *pass) map[string]string {
	d := r.view.deployment(client.ObjectKeyFromObject(p.IotConnector))
	if d == nil || d.Spec.Selector == nil || !metav1.IsControlledBy(d, p.IotConnector) {
		return nil
	}
	return d.Spec.Selector.MatchLabels
}

// have returns the inventory together with the Deployments that the connector owns
// without it: an older controller kept none.
func (r *reconciler) have(p *pass) []apply.Entry {
	var found []apply.Entry
	for _, d := range r.view.ownedBy(p.UID) {
		if d.Namespace == p.Namespace {
			found = append(found, apply.Entry{
				ID: object.Of(d, deploymentKind.GroupKind()), Version: deploymentKind.Version, UID: d.UID, Wave: deploymentWave,
			})
		}
	}
	slices.SortFunc(found, func(a, b apply.Entry) int { return object.Compare(a.ID, b.ID) })
	return known(entries(p.IotConnector), found)
}

// ready reports whether an object serves.
func (r *reconciler) ready(e apply.Entry) bool {
	if e.UID == "" || e.GroupKind() != deploymentKind.GroupKind() {
		return e.UID != ""
	}
	d := r.view.deployment(e.NamespacedName())
	if d == nil || d.UID != e.UID || r.late(d) {
		return false
	}
	ok, _ := available(d)
	return ok
}

// late reports whether a Deployment was last seen before our own last write of it. That
// the Pods of the former image served then would have a release believe in the new one.
func (r *reconciler) late(d *appsv1.Deployment) bool {
	return d != nil && r.applier.Unseen(object.Of(d, deploymentKind.GroupKind()), d.ResourceVersion)
}

// failures returns the outcome of errors. What the API server refuses for good waits
// until somebody changes the spec; of who else refuses it nobody tells when he changes
// his mind.
func failures(err error) reconcile.Outcome {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var outcome reconcile.Outcome
		for _, one := range joined.Unwrap() {
			outcome = outcome.And(failures(one))
		}
		return outcome
	}
	switch {
	case reconcile.IsVeto(err):
		return reconcile.WaitFor(refusedRetry, reasonVetoed, "what the spec asks for may not be made: %s", err)
	case apierrors.IsInvalid(err) && !reconcile.IsAnother(err):
		return reconcile.Refuse(reasonInvalid, "the API server refuses what the spec asks for: %s", err)
	default:
		return reconcile.Fail(reasonFailed, err)
	}
}

// readiness returns which of the wanted Deployments do not serve yet, but for those
// that are somebody else's.
func (r *reconciler) readiness(want []apply.Object, foreign []object.ID) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, o := range want {
		if o.Wave != deploymentWave || slices.Contains(foreign, o.ID()) {
			continue
		}
		d := r.view.deployment(o.ID().NamespacedName())
		if r.late(d) {
			outcome = outcome.And(reconcile.Progress(reasonProgressing, "%s %s", o.ID().Short(), changedJustNow))
			continue
		}
		ok, missing := available(d)
		if ok {
			continue
		}
		if said, stuck := exceeded(d); stuck {
			outcome = outcome.And(reconcile.Refuse(reasonNoProgress, "%s makes no progress: %s", o.ID().Short(), said))
			continue
		}
		outcome = outcome.And(reconcile.Progress(reasonProgressing, "%s %s", o.ID().Short(), missing))
	}
	return outcome
}

// record writes down what is about to be applied. Where there was nothing before, that is
// the version that runs from now on: whoever changes it meanwhile may turn back to it.
func (r *reconciler) record(ctx context.Context, p *pass, all []apply.Entry, want []apply.Object) error {
	p.Status.Inventory = inventory(all, func(e apply.Entry) bool { return e.Hash != "" && r.ready(e) })
	p.judge(applying(p, all, want))
	if p.fresh && len(p.have) == 0 {
		p.Status.Version = new(p.Spec.EffectiveVersion())
	}
	return r.writeStatus(ctx, p)
}

// applying returns which of the wanted objects are recorded to be applied, and were not
// yet, and what they are to replace.
func applying(p *pass, all []apply.Entry, want []apply.Object) reconcile.Outcome {
	var outcome reconcile.Outcome
	wanted := map[object.ID]bool{}
	for _, o := range want {
		wanted[o.ID()] = true
		if slices.ContainsFunc(all, func(e apply.Entry) bool { return e.ID == o.ID() && e.Hash == "" }) {
			outcome = outcome.And(reconcile.Progress(reasonProgressing, "%s is being applied", o.ID().Short()))
		}
	}
	for _, e := range p.have {
		if !wanted[e.ID] && p.switching() {
			outcome = outcome.And(stays(e.ID))
		}
	}
	return outcome
}

func stays(id object.ID) reconcile.Outcome {
	return reconcile.Progress(reasonProgressing, "%s stays until what replaces it is available", id.Short())
}

// obstacles returns what is in the way of what is wanted.
func (r *reconciler) obstacles(p *pass, changes apply.ChangeSet) reconcile.Outcome {
	var outcome reconcile.Outcome
	inTheWay := changes.Of(apply.Foreign, apply.Terminating)
	r.blocked.set(client.ObjectKeyFromObject(p.IotConnector), inTheWay)
	for _, id := range inTheWay {
		if _, exists := r.view.Get(id); !exists {
			p.recheck = time.Second // It is not seen yet, or was gone before anybody listened.
		}
	}
	for _, id := range changes.Of(apply.Foreign) {
		outcome = outcome.And(r.inTheWay(p, id))
	}
	for _, id := range changes.Of(apply.Terminating) {
		outcome = outcome.And(reconcile.Wait(reasonTerminating, "waiting until %s, which was deleted, is gone", id.Short()))
	}
	for _, id := range changes.Of(apply.Kept) {
		outcome = outcome.And(stays(id))
	}
	return outcome.And(refusals(changes))
}

// refusals returns who does not let us delete what is to go.
func refusals(changes apply.ChangeSet) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, c := range changes {
		if c.Action == apply.Refused {
			outcome = outcome.And(reconcile.WaitFor(refusedRetry, reasonRefused,
				"%s is to be deleted, and may not be: %s", c.ID.Short(), c.Message))
		}
	}
	return outcome
}

// recordPrevious notes, at the moment of an upgrade, what may be rolled back to.
// The annotation can be written by whoever may write the connector; from then on
// the note decides.
func (r *reconciler) recordPrevious(p *pass) {
	if p.Spec.EffectiveVersion() != iotv1alpha1.Version0 &&
		p.Status.Version != nil && *p.Status.Version == iotv1alpha1.Version0 && p.Status.Previous == nil {
		if spec, err := iot.Previous(p.IotConnector); err == nil {
			p.Status.Previous = &iotv1alpha1.PreviousSpec{Hash: iot.HashSpec(spec)}
		}
	}
}

// tell tells people what was changed. That a new connector is made needs no event:
// one for each of a thousand would cost as much as the connectors.
func (r *reconciler) tell(ctx context.Context, p *pass, changes apply.ChangeSet) {
	if !changes.Changed() {
		return
	}
	logr.FromContextOrDiscard(ctx).Info("Applied", "changes", changes.String())
	if !p.fresh {
		r.events.Eventf(p.IotConnector, nil, "Normal", "Applied", "Apply", "%s", changes.String())
	}
}

func (r *reconciler) forget(id object.ID) {
	r.writes.Forget(id)
	r.reports.forget(id)
	r.blocked.set(id.NamespacedName(), nil)
}

// changeFinalizer adds or removes the finalizer.
func (r *reconciler) changeFinalizer(ctx context.Context, p *pass, change func(client.Object, string) bool) error {
	before := p.DeepCopy()
	change(p.IotConnector, finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, p.IotConnector, patch, client.FieldOwner(fieldOwner)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write finalizers of %s: %w", p.id, err))
	}
	r.writes.Wrote(p.id, p.ResourceVersion)
	return nil
}
