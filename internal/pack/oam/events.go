package oam

import (
	"context"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// The published reasons of events about applications.
const (
	eventApplied      = "AppliedComponents"
	eventCannotRender = "CannotRenderComponents"
	eventCannotApply  = "CannotApplyComponents"
)

// reportChanges logs the changes of an application's objects, and records an event. The first objects of an
// application are no news: with hundreds of new applications, the events would cost as much as the
// applications.
func (r *applicationReconciler) reportChanges(ctx context.Context, p *applicationPass, changes apply.ChangeSet) {
	if !changes.Changed() {
		return
	}
	logr.FromContextOrDiscard(ctx).Info("Applied", "changes", changes.String())
	if len(p.former) > 0 {
		r.events.Eventf(p.ApplicationConfiguration, nil, corev1.EventTypeNormal, eventApplied, "Apply",
			"%s", condition.ClipNote(changes.String()))
	}
}

// reportOutcome records an event about an application whose condition says since this pass why the
// application is not what its spec asks for. The first outcome is in the condition alone: usually a new
// application waits a moment for the revision of a new Component.
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
