package oam

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// The published reasons of events about ApplicationConfigurations.
const (
	eventApplied      = "AppliedComponents"
	eventCannotRender = "CannotRenderComponents"
	eventCannotApply  = "CannotApplyComponents"
)

// eventFieldsLeft is the reason of an event that says which fields are left to other field managers. Such an event is
// recorded when the condition Synced says so for the first time.
const eventFieldsLeft = "FieldsLeft"

// logChanges logs changes of an object's children of which no event tells.
func (e *environment) logChanges(parent object.ID, changes apply.ChangeSet) {
	if changes.Changed() {
		e.log.Info("Applied", "object", parent.String(), "message", changes.String())
	}
}

// reportChanges records an event about changes of an application's objects, which is logged too. The first
// objects of an application are logged alone: with hundreds of new applications, the events would cost as
// much as the applications.
func (r *applicationReconciler) reportChanges(p *applicationPass, changes apply.ChangeSet) {
	if len(p.former) == 0 {
		r.logChanges(p.id, changes)
		return
	}
	if changes.Changed() {
		r.events.Eventf(p.ApplicationConfiguration, nil, corev1.EventTypeNormal, eventApplied, "Apply",
			"%s", condition.ClipNote(changes.String()))
	}
}

// reportOutcome records an event if this pass has changed the condition Synced to an obstacle, or to other fields that
// are left to other field managers. The
// first outcome is in the condition alone: a new ApplicationConfiguration usually waits a moment
// for the revision of a new Component.
func (r *applicationReconciler) reportOutcome(p *applicationPass, outcome reconcile.Outcome) {
	if outcome.IsDone() && p.left != "" {
		r.events.Eventf(p.ApplicationConfiguration, nil, corev1.EventTypeNormal, eventFieldsLeft, "Apply",
			"%s", condition.ClipNote(p.left))
	}
	if outcome.IsDone() || len(p.recorded.Status.Conditions) == 0 {
		return
	}
	reason, action := eventCannotApply, "Apply"
	if len(p.app.parts) == 0 {
		reason, action = eventCannotRender, "Render"
	}
	r.events.Eventf(p.ApplicationConfiguration, nil, corev1.EventTypeWarning, reason, action,
		"%s", condition.ClipNote(outcome.Message()))
}
