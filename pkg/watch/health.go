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

	mu        sync.Mutex
	failing   map[part]string
	forbidden map[part]bool
	broken    map[part]map[types.UID]string // unreadable objects, with the resourceVersion that was reported
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
	h.mu.Lock()
	before := h.failing[p]
	if h.forbidden == nil {
		h.forbidden = map[part]bool{}
	}
	h.forbidden[p] = apierrors.IsForbidden(err)
	if err == nil {
		delete(h.failing, p)
	} else {
		if h.failing == nil {
			h.failing = map[part]string{}
		}
		h.failing[p] = message
	}
	h.mu.Unlock()
	switch {
	case err != nil && before != message:
		h.Log.Error(err, "A kind can't be watched: controllers that need it don't go on", "kind", p.String())
	case err == nil && before != "":
		h.Log.Info("A kind can be watched again", "kind", p.String())
	}
}

// Forget drops what is known of a kind whose informers have ended.
func (h *Health) Forget(gk schema.GroupKind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.failing, func(p part, _ string) bool { return p.GroupKind == gk })
	maps.DeleteFunc(h.forbidden, func(p part, _ bool) bool { return p.GroupKind == gk })
	maps.DeleteFunc(h.broken, func(p part, _ map[types.UID]string) bool { return p.GroupKind == gk })
}

// Forbidden reports whether the operator has no right to read a kind.
func (h *Health) Forbidden(gk schema.GroupKind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p, forbidden := range h.forbidden {
		if forbidden && p.GroupKind == gk {
			return true
		}
	}
	return false
}

// Refusal returns the answer of the API server because of which the operator can't read a kind, which names the missing
// right, or an empty text.
func (h *Health) Refusal(gk schema.GroupKind) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var texts []string
	for p, forbidden := range h.forbidden {
		if forbidden && p.GroupKind == gk {
			texts = append(texts, h.failing[p])
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
	h.mu.Lock()
	if h.broken == nil {
		h.broken = map[part]map[types.UID]string{}
	}
	if h.broken[p] == nil {
		h.broken[p] = map[types.UID]string{}
	}
	known := h.broken[p][u.GetUID()] == u.GetResourceVersion()
	h.broken[p][u.GetUID()] = u.GetResourceVersion()
	h.mu.Unlock()
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
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.broken[p], uid)
}

// retain removes the records of unreadable objects that a LIST does not contain any more. A
// page of the list (metadata.continue) does not contain all objects.
func (h *Health) retain(p part, listed map[types.UID]bool, page bool) {
	if page {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.broken[p], func(uid types.UID, _ string) bool { return !listed[uid] })
}

// Unreadable returns the number of objects of a kind that could not be decoded.
func (h *Health) Unreadable(gk schema.GroupKind) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.numbers()[gk]
}

// Err returns an error that names each kind whose LIST or WATCH fails, or nil.
func (h *Health) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.failing) == 0 {
		return nil
	}
	texts := make([]string, 0, len(h.failing))
	for p, message := range h.failing {
		texts = append(texts, fmt.Sprintf("%s can't be watched: %s", p, message))
	}
	slices.Sort(texts)
	return errors.New(strings.Join(texts, "; "))
}

// numbers returns the number of unreadable objects of each kind. The caller holds Health.mu.
func (h *Health) numbers() map[schema.GroupKind]int {
	all := map[schema.GroupKind]int{}
	for p, objects := range h.broken {
		all[p.GroupKind] += len(objects)
	}
	return all
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
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	failing := map[schema.GroupKind]bool{}
	for p := range m.health.failing {
		failing[p.GroupKind] = true
	}
	for gk := range failing {
		metrics <- prometheus.MustNewConstMetric(m.failing, prometheus.GaugeValue, 1, gk.Group, gk.Kind)
	}
	for gk, number := range m.health.numbers() {
		metrics <- prometheus.MustNewConstMetric(m.unreadable, prometheus.GaugeValue, float64(number), gk.Group, gk.Kind)
	}
}
