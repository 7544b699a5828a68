package iot

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
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

// refusedRetry is the pause after an admission webhook or a policy refused a write. No event
// reports that a webhook would now accept the write. If a Usage refused a deletion, the removal
// of the Usage's label from the object is an event, and the retry follows at once.
const refusedRetry = time.Minute

// rivalry is apply.Rivals.Within: an autoscaler sets the number of Pods again within seconds.
const rivalry = time.Minute

// reconciler reconciles IotConnectors. The reconciler only runs in the leader.
type reconciler struct {
	applier  *apply.Applier
	stores   *apply.Stores
	writer   reconcile.Writer
	reports  reconcile.Reports[*iotv1alpha1.IotConnectorStatus]
	events   events.EventRecorder
	clock    clock.PassiveClock
	identity Identity
}

func newReconciler(
	live client.Client, own *reconcile.OwnKind, recorder events.EventRecorder, now clock.PassiveClock, identity Identity,
) *reconciler {
	applier := &apply.Applier{
		Client: live, FieldOwner: fieldOwner, Rivals: &apply.Rivals{Client: live, Within: rivalry, Clock: now},
	}
	stores := &apply.Stores{Parent: own.Kind, Queue: &own.Queue, Applier: applier}
	applier.View = stores
	return &reconciler{
		applier: applier, stores: stores, events: recorder, clock: now, identity: identity,
		writer: reconcile.Writer{Client: live, FieldOwner: fieldOwner, Writes: &own.Writes},
		reports: reconcile.Reports[*iotv1alpha1.IotConnectorStatus]{
			First: firstReport, Ratio: reportRatio, Each: reportPause, Coarse: coarse, IsProgressing: isReconciling,
		},
	}
}

// pass is the state of one pass over an IotConnector.
type pass struct {
	*iotv1alpha1.IotConnector

	id object.ID
	// recorded is the IotConnector as the cache shows it, or as it was written last.
	recorded *iotv1alpha1.IotConnector
	have     []apply.Entry
	want     []apply.Object
	// isNew is set if no status.version was known when the pass began.
	isNew bool
}

// pass returns the steps in the life of an IotConnector.
func (r *reconciler) pass(
	read func(context.Context, object.ID) (client.Object, error),
) *reconcile.Pass[*pass] {
	return &reconcile.Pass[*pass]{
		Read: read, Begin: r.begin, Conclude: r.conclude, Forget: r.forget, Writes: r.writer.Writes,
		Live: []reconcile.Step[*pass]{
			{Name: "add finalizer", Run: r.addFinalizer},
			{Name: "check spec", Run: r.checkSpec},
			{Name: "render", Run: r.render},
			{Name: "check restored Deployments", Run: r.checkRestored},
			{Name: "take over Deployments", Run: r.takeOver},
			{Name: "hand over replicas", Run: r.handOverReplicas},
			{Name: "apply", Run: r.apply},
		},
		Ending: []reconcile.Step[*pass]{
			{Name: "delete composed objects", Run: r.deleteComposed},
			{Name: "remove finalizer", Run: r.removeFinalizer},
		},
	}
}

func (r *reconciler) begin(id object.ID, obj client.Object) *pass {
	recorded := obj.(*iotv1alpha1.IotConnector)
	p := &pass{IotConnector: recorded.DeepCopy(), id: id, recorded: recorded}
	p.Status = *r.reports.Latest(id, &recorded.Status).DeepCopy()
	p.isNew = p.Status.Version == nil
	return p
}

func (r *reconciler) forget(_ context.Context, id object.ID) {
	r.reports.Forget(id)
	r.stores.WaitFor(id)
}

// owner returns the owner reference that every composed object gets.
func (p *pass) owner() metav1.OwnerReference {
	version, kind := connectorKind.ToAPIVersionAndKind()
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: p.Name, UID: p.UID}
}

// addFinalizer adds the finalizer if the mutating webhook has not: with --enforcement=policy
// there is no webhook.
func (r *reconciler) addFinalizer(ctx context.Context, p *pass) reconcile.Outcome {
	controllerutil.AddFinalizer(p.IotConnector, finalizer)
	return r.writeObject(ctx, p)
}

func (r *reconciler) removeFinalizer(ctx context.Context, p *pass) reconcile.Outcome {
	controllerutil.RemoveFinalizer(p.IotConnector, finalizer)
	return r.writeObject(ctx, p)
}

// writeObject writes the finalizers of an IotConnector, if they differ from the record.
func (r *reconciler) writeObject(ctx context.Context, p *pass) reconcile.Outcome {
	wrote, err := r.writer.Object(ctx, p.id, p.recorded, p.IotConnector)
	if wrote {
		status := p.recorded.Status
		p.recorded = p.DeepCopy()
		p.recorded.Status = status
	}
	return reconcile.Fail(reasonFailed, err)
}

// checkSpec refuses a spec that can never work. An admission webhook refuses most such specs
// already, but with --enforcement=policy there is no webhook.
func (r *reconciler) checkSpec(_ context.Context, p *pass) reconcile.Outcome {
	err := iot.Validate(p.Name, &p.Spec)
	if err == nil && p.Status.Version != nil {
		err = checkDowngrade(*p.Status.Version, p.IotConnector, p.Status.Previous)
	}
	if err != nil {
		return reconcile.Refuse(reasonInvalid, "%s", err.Error())
	}
	return reconcile.Outcome{}
}

// render renders the wanted objects and reads the inventory.
func (r *reconciler) render(_ context.Context, p *pass) reconcile.Outcome {
	id := identity{p.IotConnector, r.identity}
	var deployments []deployment
	if p.Spec.EffectiveVersion() == iotv1alpha1.Version0 {
		deployments = version0(p.IotConnector, r.selector(p))
	} else {
		deployments = version1(p.IotConnector)
	}
	p.want = id.render()
	for _, d := range deployments {
		obj, err := d.render(id)
		if err != nil {
			return reconcile.Refuse(reasonInvalid, "%s", err.Error())
		}
		p.want = append(p.want, obj)
	}
	p.recordPrevious()
	p.Status.Identity = id.status()
	p.have = r.have(p)
	return reconcile.Outcome{}
}

// selector returns spec.selector.matchLabels of the IotConnector's own Deployment of version 0,
// if that Deployment exists.
func (r *reconciler) selector(p *pass) map[string]string {
	d := r.deployment(object.ID{Namespace: p.Namespace, Name: p.Name})
	if d == nil || d.Spec.Selector == nil || !metav1.IsControlledBy(d, p.IotConnector) {
		return nil
	}
	return d.Spec.Selector.MatchLabels
}

// recordPrevious records the hash of the spec before an upgrade in status.previous. A later
// rollback is compared with status.previous, because every user who may write the IotConnector
// may write the annotation that holds the previous spec.
func (p *pass) recordPrevious() {
	if p.Spec.EffectiveVersion() == iotv1alpha1.Version0 || p.Status.Version == nil ||
		*p.Status.Version != iotv1alpha1.Version0 || p.Status.Previous != nil {
		return
	}
	if spec, err := iot.Previous(p.IotConnector); err == nil {
		p.Status.Previous = &iotv1alpha1.PreviousSpec{Hash: iot.HashSpec(spec)}
	}
}
