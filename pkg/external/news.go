package external

import (
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
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

// States of objects, the values of the label state of kinship_external_objects.
const (
	stateReady    = "ready"
	stateWaiting  = "waiting"  // for a target, or for the end of a change
	stateFailing  = "failing"  // and tried again
	stateStuck    = "stuck"    // until a person changes the spec or a target
	stateDeleting = "deleting" // still held, or not deleted yet
)

// objectsMetric counts the objects of the caches at each scrape. A counter that each event increments or
// decrements would stay wrong after a single mistake.
type objectsMetric struct {
	engine *Engine
	desc   *prometheus.Desc
	// waiting counts objects without a turn, and open counts the open circuits (turns.counts).
	waiting, open *prometheus.Desc
}

// Metrics returns the metrics of the engine: kinship_external_objects by group, kind and state,
// kinship_external_objects_without_turn by group and kind, and kinship_external_open_circuits by group and
// kind. Register the Collector after [Engine.Start].
func (e *Engine) Metrics() prometheus.Collector {
	kinds := []string{"group", "kind"}
	return objectsMetric{
		e, prometheus.NewDesc("kinship_external_objects",
			"Objects that stand for resources outside of Kubernetes.", append(slices.Clone(kinds), "state"), nil),
		prometheus.NewDesc("kinship_external_objects_without_turn",
			"Objects that wait for a turn to call their place.", kinds, nil),
		prometheus.NewDesc("kinship_external_open_circuits",
			"Places, each counted for each namespace, that fail or do not answer and are asked less often.", kinds, nil),
	}
}

// Graph returns the metrics of the edges between objects ([engine.Engine.Metrics]).
func (e *Engine) Graph(pack string) prometheus.Collector { return e.core.Metrics(pack) }

// Describe implements prometheus.Collector. Describe sends no descriptions, so that the engines of several
// packs can be registered: their kinds differ.
func (m objectsMetric) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m objectsMetric) Collect(metrics chan<- prometheus.Metric) {
	for _, k := range *m.engine.kinds.Load() {
		counts := map[string]int{}
		for _, obj := range m.engine.core.List(k.gk()) {
			counts[stateOf(obj.(Object))]++
		}
		for _, state := range []string{stateReady, stateWaiting, stateFailing, stateStuck, stateDeleting} {
			metrics <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(counts[state]),
				k.gvk.Group, k.gvk.Kind, state)
		}
		waiting, open := k.turns.counts(k.gk())
		metrics <- prometheus.MustNewConstMetric(m.waiting, prometheus.GaugeValue, float64(waiting), k.gvk.Group, k.gvk.Kind)
		metrics <- prometheus.MustNewConstMetric(m.open, prometheus.GaugeValue, float64(open), k.gvk.Group, k.gvk.Kind)
	}
}

// waitingReasons are the reasons of condition Progressing while an object waits.
var waitingReasons = []string{
	condition.ReasonProgressing, condition.ReasonWaitingForOwner, condition.ReasonWaitingForReference,
	condition.ReasonCreating, condition.ReasonUpdating, condition.ReasonDeleting, condition.ReasonInUse,
}

// stateOf returns the state of an object, such as stateReady, from the condition Progressing.
func stateOf(obj Object) string {
	if obj.GetDeletionTimestamp() != nil {
		return stateDeleting
	}
	c := meta.FindStatusCondition(obj.GetExternalStatus().Conditions, condition.Progressing)
	switch {
	case c == nil || c.ObservedGeneration != obj.GetGeneration() || slices.Contains(waitingReasons, c.Reason):
		return stateWaiting
	case c.Status == metav1.ConditionTrue: // TransientError or, with Specific, the reason of the cloud.
		return stateFailing
	case c.Reason == condition.ReasonSuccess:
		return stateReady
	default:
		return stateStuck
	}
}
