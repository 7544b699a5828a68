package external

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinship-dev/kinship/pkg/condition"
)

// Reasons of the events about the origin of an object's resource (memory.origin).
const (
	created  = "Created"
	imported = "Imported"
	adopted  = "Adopted"
)

// event emits an event about facts that conditions do not show.
func (e *Engine) event(obj runtime.Object, kind, reason, action, format string, args ...any) {
	if e.Events == nil {
		return
	}
	e.Events.Eventf(obj, nil, kind, reason, action, "%s", condition.ClipNote(fmt.Sprintf(format, args...)))
}

// announce emits events about new facts in a written status: the id of a resource (announceResource), and
// the reason of a failure (failureOf). announce compares pass.before with pass.Object, so each fact is
// announced once, even after a restart.
func (r *reconciler[K, R]) announce(p *pass[K, R]) {
	if id := idOf(p.Object); id != "" && id != idOf(p.before) {
		r.announceResource(p, id)
	}
	c := failureOf(p.Object)
	if c == nil {
		return
	}
	if before := failureOf(p.before); before != nil && before.Reason == c.Reason {
		return // The message differs, as it may with each attempt.
	}
	action := "Reconcile"
	if p.Object.GetDeletionTimestamp() != nil {
		action = "Delete"
	}
	r.engine.event(p.Object, corev1.EventTypeWarning, c.Reason, action, "%s", c.Message)
}

func (r *reconciler[K, R]) announceResource(p *pass[K, R], id string) {
	origin := p.record.origin
	p.record.origin = ""
	switch origin {
	case created:
		r.engine.event(p.Object, corev1.EventTypeNormal, created, "Create", "%s %s was created", r.engine.Noun, id)
	case imported:
		r.engine.event(p.Object, corev1.EventTypeNormal, imported, "Import", "%s %s exists and is used by this object",
			r.engine.Noun, id)
	case adopted:
		r.engine.event(p.Object, corev1.EventTypeNormal, adopted, "Import",
			"%s %s exists and belongs to this object, which deletes it at its end", r.engine.Noun, id)
	}
}

// announceDeletion emits an event about a resource that Actuator.Delete has deleted, once.
func (r *reconciler[K, R]) announceDeletion(p *pass[K, R], id string) {
	if p.record.deleted == id {
		return
	}
	p.record.deleted = id
	r.engine.event(p.Object, corev1.EventTypeNormal, "Deleted", "Delete", "%s %s was deleted", r.engine.Noun, id)
}

// failureOf returns the condition Progressing if its reason is a failure or a refusal, or nil.
func failureOf(obj Object) *metav1.Condition {
	c := meta.FindStatusCondition(obj.GetExternalStatus().Conditions, condition.Progressing)
	if c == nil || c.Reason == condition.ReasonSuccess || slices.Contains(waitingReasons, c.Reason) {
		return nil
	}
	return c
}
