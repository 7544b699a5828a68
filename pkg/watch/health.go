package watch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/locked"
)

// Health records each kind whose LIST or WATCH fails, and each object that can't be decoded.
// Health is safe for concurrent use.
type Health struct {
	// Log gets an entry when a kind begins to fail or works again, and for each unreadable
	// object.
	Log logr.Logger
	// Report reports an unreadable object to the user, with an Event for example. Report may be
	// nil.
	Report func(obj runtime.Object, message string)

	parts locked.Map[part, state]
}

// state is what a Health knows of one informer.
type state struct {
	failing   string // the error of the last LIST or WATCH, or ""
	forbidden bool   // failing is a lack of rights
	// broken has the unreadable objects, with the resourceVersion that was reported.
	broken map[types.UID]string
}

// part is the GroupKind of one informer with its source: a kind that is watched in several
// namespaces has several informers.
type part struct {
	schema.GroupKind
	source *source
}

func (s *source) part() part { return part{s.gvk.GroupKind(), s} }

// record records the result of a LIST, or of the start of a WATCH.
func (h *Health) record(p part, err error) {
	message := ""
	if err != nil {
		message = err.Error()
	}
	before := ""
	h.parts.Update(p, func(s state, _ bool) (state, bool) {
		before = s.failing
		s.failing, s.forbidden = message, apierrors.IsForbidden(err)
		return s, true
	})
	switch {
	case err != nil && before != message:
		h.Log.Error(err, "A kind can't be watched: controllers that need it don't go on", "kind", p.String())
	case err == nil && before != "":
		h.Log.Info("A kind can be watched again", "kind", p.String())
	}
}

// Forget drops what is known of a kind whose informers have ended.
func (h *Health) Forget(gk schema.GroupKind) {
	h.parts.DeleteFunc(func(p part, _ state) bool { return p.GroupKind == gk })
}

// Forbidden reports whether the operator has no right to read a kind.
func (h *Health) Forbidden(gk schema.GroupKind) bool {
	for p, s := range h.parts.All() {
		if s.forbidden && p.GroupKind == gk {
			return true
		}
	}
	return false
}

// unreadable records an object that could not be decoded, and reports the object once per
// metadata.resourceVersion.
func (h *Health) unreadable(p part, u *unstructured.Unstructured, err error) {
	known := false
	h.parts.Update(p, func(s state, _ bool) (state, bool) {
		if s.broken == nil {
			s.broken = map[types.UID]string{}
		}
		known = s.broken[u.GetUID()] == u.GetResourceVersion()
		s.broken[u.GetUID()] = u.GetResourceVersion()
		return s, true
	})
	if known {
		return
	}
	h.Log.Error(err, "An object can't be read and is left as it is", "kind", p.String(),
		"namespace", u.GetNamespace(), "name", u.GetName())
	if h.Report != nil {
		h.Report(u, fmt.Sprintf("the operator can't read this object and leaves it as it is: %v. "+
			"Correct the field, or delete the object", err))
	}
}

// readable removes the record of an unreadable object.
func (h *Health) readable(p part, uid types.UID) {
	h.parts.Update(p, func(s state, known bool) (state, bool) {
		delete(s.broken, uid)
		return s, known
	})
}

// retain removes the records of unreadable objects that a LIST does not contain any more. A
// page of the list (metadata.continue) does not contain all objects.
func (h *Health) retain(p part, listed map[types.UID]bool, page bool) {
	if page {
		return
	}
	h.parts.Update(p, func(s state, known bool) (state, bool) {
		maps.DeleteFunc(s.broken, func(uid types.UID, _ string) bool { return !listed[uid] })
		return s, known
	})
}

// Unreadable returns the number of objects of a kind that could not be decoded.
func (h *Health) Unreadable(gk schema.GroupKind) int {
	_, numbers := h.summary()
	return numbers[gk]
}

// Err returns an error that names each kind whose LIST or WATCH fails, or nil.
func (h *Health) Err() error {
	var texts []string
	for p, s := range h.parts.All() {
		if s.failing != "" {
			texts = append(texts, fmt.Sprintf("%s can't be watched: %s", p, s.failing))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	slices.Sort(texts)
	return errors.New(strings.Join(texts, "; "))
}

// summary returns the kinds whose LIST or WATCH fails, and the number of unreadable objects of each
// kind.
func (h *Health) summary() (failing map[schema.GroupKind]bool, unreadable map[schema.GroupKind]int) {
	failing, unreadable = map[schema.GroupKind]bool{}, map[schema.GroupKind]int{}
	for p, s := range h.parts.All() {
		if s.failing != "" {
			failing[p.GroupKind] = true
		}
		if s.broken != nil {
			unreadable[p.GroupKind] += len(s.broken)
		}
	}
	return failing, unreadable
}

// Metrics returns a prometheus.Collector for a [Health]. The label pack distinguishes the Health
// of several packs.
func (h *Health) Metrics(pack string) prometheus.Collector {
	constant := prometheus.Labels{"pack": pack}
	return healthMetrics{
		h,
		prometheus.NewDesc("kinship_watch_failing",
			"Kinds that can't be listed or watched now: controllers that need them don't go on.",
			[]string{"group", "kind"}, constant),
		prometheus.NewDesc("kinship_watch_unreadable_objects",
			"Objects that the API server stores and the operator can't read.", []string{"group", "kind"}, constant),
	}
}

type healthMetrics struct {
	health              *Health
	failing, unreadable *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (m healthMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.failing
	descs <- m.unreadable
}

// Collect implements prometheus.Collector.
func (m healthMetrics) Collect(metrics chan<- prometheus.Metric) {
	failing, unreadable := m.health.summary()
	for gk := range failing {
		metrics <- prometheus.MustNewConstMetric(m.failing, prometheus.GaugeValue, 1, gk.Group, gk.Kind)
	}
	for gk, number := range unreadable {
		metrics <- prometheus.MustNewConstMetric(m.unreadable, prometheus.GaugeValue, float64(number), gk.Group, gk.Kind)
	}
}
