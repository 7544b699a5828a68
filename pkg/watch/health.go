package watch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/locked"
)

// Health records each kind whose LIST or WATCH fails, and each object that can't be decoded or has no room.
// Health is safe for concurrent use.
type Health struct {
	// Log gets an entry when a kind begins to fail or works again, and for each unreadable
	// object.
	Log logr.Logger
	// Report reports an unreadable object to the user, with an Event for example. Report may be
	// nil.
	Report func(obj runtime.Object, message string)

	parts locked.Map[part, state]

	mu     sync.Mutex
	change []func(schema.GroupKind)
}

// OnRefusal has a function called whenever [Health.Refusal] of a kind may have another answer than before: what waits
// for an object of the kind waits for another reason.
func (h *Health) OnRefusal(call func(schema.GroupKind)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.change = append(h.change, call)
}

// tellRefusal calls the functions of [Health.OnRefusal].
func (h *Health) tellRefusal(gk schema.GroupKind) {
	h.mu.Lock()
	change := slices.Clone(h.change)
	h.mu.Unlock()
	for _, call := range change {
		call(gk)
	}
}

// state is what a Health knows of one informer.
type state struct {
	failing string // the error of the last LIST or WATCH, or ""
	refusal string // the last error for lack of a right, until a success: a time-out gives no right
	// broken has the unreadable objects, with the resourceVersion that was reported.
	broken map[types.UID]string
	// leftOut has the objects without room in a Tally, with the resourceVersion that was reported.
	leftOut map[types.UID]string
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
	before, refused, refuses := "", false, false
	h.parts.Update(p, func(s state, _ bool) (state, bool) {
		before, refused = s.failing, s.refusal != ""
		s.failing = message
		if err == nil || apierrors.IsForbidden(err) {
			s.refusal = message
		}
		refuses = s.refusal != ""
		return s, true
	})
	switch {
	case err != nil && before != message:
		h.Log.Error(err, "A kind can't be watched: controllers that need it don't go on", "kind", p.String())
	case err == nil && before != "":
		h.Log.Info("A kind can be watched again", "kind", p.String())
	}
	if refuses != refused {
		h.tellRefusal(p.GroupKind)
	}
}

// Forget drops what is known of a kind whose informers have ended.
func (h *Health) Forget(gk schema.GroupKind) {
	h.parts.DeleteFunc(func(p part, _ state) bool { return p.GroupKind == gk })
}

// Forbidden reports whether the operator has no right to read a kind.
func (h *Health) Forbidden(gk schema.GroupKind) bool { return h.Refusal(gk) != "" }

// Refusal returns the answer with which the API server refuses to show a kind. The answer names the missing
// right. Refusal returns an empty text if the operator may read the kind.
func (h *Health) Refusal(gk schema.GroupKind) string {
	var texts []string
	for p, s := range h.parts.All() {
		if s.refusal != "" && p.GroupKind == gk {
			texts = append(texts, s.refusal)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return slices.Min(texts) // Each namespace of --namespaces has an answer of its own.
}

// unreadable records an object that could not be decoded, and reports the object once per
// metadata.resourceVersion.
func (h *Health) unreadable(p part, u *unstructured.Unstructured, err error) {
	if h.isNews(p, u.GetUID(), u.GetResourceVersion(), func(s *state) *map[types.UID]string { return &s.broken }) {
		h.tell(p, u, "An object can't be read and is left as it is", err, fmt.Sprintf(
			"the operator can't read this object and leaves it as it is: %v. Correct the field, or delete the object", err))
	}
}

// leftOut records an object that has no room in a [Tally], and reports the object once until the object has room: each
// change by its user would otherwise be a line of the log.
func (h *Health) leftOut(p part, obj client.Object, err error) {
	if h.isNews(p, obj.GetUID(), "", func(s *state) *map[types.UID]string { return &s.leftOut }) {
		h.tell(p, obj, "An object has no room and is left as it is", err,
			fmt.Sprintf("the operator leaves this object as it is: %v", err))
	}
}

// isNews records a version of an object, and reports whether this version was not recorded last.
func (h *Health) isNews(p part, uid types.UID, version string, in func(*state) *map[types.UID]string) bool {
	known := false
	h.parts.Update(p, func(s state, _ bool) (state, bool) {
		records := in(&s)
		if *records == nil {
			*records = map[types.UID]string{}
		}
		var before string
		before, known = (*records)[uid]
		known = known && before == version
		(*records)[uid] = version
		return s, true
	})
	return !known
}

// tell writes a line of the log, and reports an object to its user.
func (h *Health) tell(p part, obj client.Object, line string, err error, message string) {
	h.Log.Error(err, line, "kind", p.String(), "namespace", obj.GetNamespace(), "name", obj.GetName())
	if h.Report != nil {
		h.Report(obj, message)
	}
}

// readable removes the record of an unreadable object.
func (h *Health) readable(p part, uid types.UID) {
	h.parts.Update(p, func(s state, known bool) (state, bool) {
		delete(s.broken, uid)
		return s, known
	})
}

// fits removes the record of an object without room.
func (h *Health) fits(p part, uid types.UID) {
	h.parts.Update(p, func(s state, known bool) (state, bool) {
		delete(s.leftOut, uid)
		return s, known
	})
}

// fitsAll removes the records of objects without room that a list does not contain any more.
func (h *Health) fitsAll(p part, listed map[types.UID]bool) {
	h.parts.Update(p, func(s state, known bool) (state, bool) {
		maps.DeleteFunc(s.leftOut, func(uid types.UID, _ string) bool { return !listed[uid] })
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

// Unreadable returns the number of objects of a kind that could not be decoded, or have no room in a [Tally].
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
		if s.broken != nil || s.leftOut != nil {
			unreadable[p.GroupKind] += len(s.broken) + len(s.leftOut)
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
