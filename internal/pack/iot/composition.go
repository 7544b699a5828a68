package iot

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// takeOver takes over wanted Deployments that an older controller created. Their spec.replicas
// is left to nobody: the next apply would reset a number of Pods that the IotConnector does not
// manage.
func (r *reconciler) takeOver(ctx context.Context, p *pass) reconcile.Outcome {
	for _, o := range p.want {
		seen, ok := r.stores.Get(o.ID(), fieldOwner)
		if o.Wave != deploymentWave || !ok || seen.Controller != p.UID || seen.Mark != "" {
			continue // The Deployment is missing, another owner's, or applied already.
		}
		if err := r.applier.TakeOver(ctx, o, p.UID, fieldpath.MakePathOrDie("spec", "replicas")); err != nil {
			return failures(err)
		}
	}
	return reconcile.Outcome{}
}

// apply applies the wanted objects, prunes the former ones, and returns what is missing until
// every wanted Deployment is available.
func (r *reconciler) apply(ctx context.Context, p *pass) reconcile.Outcome {
	result, err := r.applier.Apply(ctx, apply.Request{
		Owner: p.owner(), Have: p.have, Want: p.want,
		Record: func(ctx context.Context, all []apply.Entry) error { return r.record(ctx, p, all) },
		MayPrune: func() bool {
			return !p.isSwitching() || (r.readiness(p, nil).IsDone() && len(r.tooSmall(p)) == 0)
		},
	})
	if err == nil {
		err = r.carryReplicasOver(ctx, p)
	}
	changes := result.Changes
	p.Status.Inventory = inventory(result.Inventory, r.isReady)
	r.report(ctx, p, changes)
	if err == nil && len(changes.Of(apply.Kept, apply.Refused, apply.Foreign, apply.Terminating)) == 0 {
		p.Status.Version = new(p.Spec.EffectiveVersion())
		if *p.Status.Version == iotv1alpha1.Version0 {
			p.Status.Previous = nil
		}
	}
	outcome := failures(err).And(r.obstacles(p, changes)).And(r.readiness(p, changes.Of(apply.Foreign)))
	if !outcome.IsDone() {
		outcome = outcome.And(reconcile.After(result.Recheck))
	}
	return outcome
}

// isSwitching reports whether Deployments of another version than the wanted one are in use.
// status.version alone is not enough: after an upgrade that is turned back halfway,
// status.version is the wanted version, and only Deployments of the other version exist.
func (p *pass) isSwitching() bool {
	version := p.Spec.EffectiveVersion()
	return p.Status.Version == nil || *p.Status.Version != version ||
		slices.ContainsFunc(p.have, func(e apply.Entry) bool {
			// Only the Deployment of version 0 has the name of the IotConnector.
			isFormer := (e.Name == p.Name) != (version == iotv1alpha1.Version0)
			return isFormer && e.GroupKind() == deploymentKind.GroupKind()
		})
}

// record writes the inventory into the status, before objects are applied. The status.version of
// a new IotConnector is recorded too, so that a change of spec.version meanwhile can be undone.
func (r *reconciler) record(ctx context.Context, p *pass, all []apply.Entry) error {
	p.Status.Inventory = inventory(all, func(e apply.Entry) bool { return e.Hash != "" && r.isReady(e) })
	p.setConditions(p.pending(all))
	if p.isNew && len(p.have) == 0 {
		p.Status.Version = new(p.Spec.EffectiveVersion())
	}
	return r.writeStatus(ctx, p)
}

// pending returns which wanted objects will be applied, and which former objects will be kept
// until then.
func (p *pass) pending(all []apply.Entry) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, o := range p.want {
		if slices.ContainsFunc(all, func(e apply.Entry) bool { return e.ID == o.ID() && e.Hash == "" }) {
			outcome = outcome.And(reconcile.Progress(reasonProgressing, "%s is being applied", o.ID().Short()))
		}
	}
	for _, e := range p.have {
		if !p.wants(e.ID) && p.isSwitching() {
			outcome = outcome.And(keptUntilReplaced(e.ID))
		}
	}
	return outcome
}

// wants reports whether the spec asks for an object.
func (p *pass) wants(id object.ID) bool {
	return slices.ContainsFunc(p.want, func(o apply.Object) bool { return o.ID() == id })
}

func keptUntilReplaced(id object.ID) reconcile.Outcome {
	return reconcile.Progress(reasonProgressing, "%s stays until its replacement is available", id.Short())
}

// obstacles returns which objects prevent the wanted state.
func (r *reconciler) obstacles(p *pass, changes apply.ChangeSet) reconcile.Outcome {
	outcome := refusals(changes)
	blocking := changes.Of(apply.Foreign, apply.Terminating)
	r.stores.WaitFor(p.id, blocking...)
	for _, id := range blocking {
		if r.stores.Object(id) == nil {
			// The cache does not show the object yet, or the object was deleted before WaitFor.
			outcome = outcome.And(reconcile.After(time.Second))
		}
	}
	for _, id := range changes.Of(apply.Foreign) {
		outcome = outcome.And(r.nameTaken(p, id))
	}
	for _, id := range changes.Of(apply.Terminating) {
		outcome = outcome.And(reconcile.Wait(reasonTerminating, "waiting until the deleted %s no longer exists", id.Short()))
	}
	for _, id := range changes.Of(apply.Kept) {
		outcome = outcome.And(keptUntilReplaced(id))
	}
	return outcome
}

// failures returns the outcome of an error. If the API server finds an object invalid, the spec
// of the IotConnector has to change. If an admission webhook refuses, the write is repeated after
// refusedRetry.
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
		return reconcile.WaitFor(refusedRetry, reasonVetoed,
			"an admission webhook or policy refuses an object of the spec: %s", err)
	case apierrors.IsInvalid(err) && !reconcile.IsAnother(err):
		return reconcile.Refuse(reasonInvalid, "the API server refuses an object of the spec: %s", err)
	default:
		return reconcile.Fail(reasonFailed, err)
	}
}

// refusals returns which deletions were refused, and why.
func refusals(changes apply.ChangeSet) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, c := range changes {
		if c.Action == apply.Refused {
			outcome = outcome.And(c.Obstacle(reasonRefused, connectorKind.Kind))
		}
	}
	return outcome
}

// report logs the changes, and records an event on the IotConnector. A new IotConnector gets no
// event: with a thousand new IotConnectors, the events would cost as much as the IotConnectors.
func (r *reconciler) report(ctx context.Context, p *pass, changes apply.ChangeSet) {
	if left := changes.Left(); left != "" { // Only the pass that leaves the fields says so.
		r.events.Eventf(p.IotConnector, nil, "Normal", "FieldsLeft", "Apply", "%s", condition.ClipNote(left))
	}
	if !changes.Changed() {
		return
	}
	if p.isNew {
		logr.FromContextOrDiscard(ctx).Info("Applied", "changes", changes.String())
		return
	}
	r.events.Eventf(p.IotConnector, nil, "Normal", "Applied", "Apply", "%s", changes.String()) // Logged too.
}
