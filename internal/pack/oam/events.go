package oam

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// The published reasons of events about ApplicationConfigurations.
const (
	eventApplied      = "AppliedComponents"
	eventCannotRender = "CannotRenderComponents"
	eventCannotApply  = "CannotApplyComponents"
)

// reportChanges records an event about changes of an application's objects, but not about the first
// objects: with hundreds of new ApplicationConfigurations, the events would cost as much as the
// ApplicationConfigurations.
func (r *applicationReconciler) reportChanges(p *applicationPass, changes apply.ChangeSet) {
	if changes.Changed() && len(p.former) > 0 {
		r.events.Eventf(p.ApplicationConfiguration, nil, corev1.EventTypeNormal, eventApplied, "Apply",
			"%s", condition.ClipNote(changes.String()))
	}
}

// reportOutcome records an event if this pass has changed the condition Synced to an obstacle. The
// first outcome is in the condition alone: a new ApplicationConfiguration usually waits a moment
// for the revision of a new Component.
func (r *applicationReconciler) reportOutcome(p *applicationPass, outcome reconcile.Outcome) {
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
