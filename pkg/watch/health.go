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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Health knows which kinds can't be listed or watched, and which objects can't be read.
// It is safe for concurrent use.
type Health struct {
	// Log is told when a kind begins or ceases to fail, and of each unreadable object.
	Log logr.Logger
	// Report tells people about an unreadable object, with an event for example. It may
	// be nil.
	Report func(obj runtime.Object, message string)

	mu      sync.Mutex
	failing map[part]string
	broken  map[part]map[types.UID]string // unreadable: the version that was reported
}

// part is a kind as one informer sees it, of all namespaces or of one.
type part struct {
	schema.GroupKind
	source *source
}

func (s *source) part() part { return part{s.gvk.GroupKind(), s} }

// record notes the result of a list or the start of a watch.
func (h *Health) record(p part, err error) {
	message := ""
	if err != nil {
		message = err.Error()
	}
	h.mu.Lock()
	before := h.failing[p]
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

// unreadable notes an object that Go can't read.
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

// readable forgets that an object could not be read.
func (h *Health) readable(p part, uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.broken[p], uid)
}

// retain forgets unreadable objects that a list does not have any more. A page of a list
// says nothing about the others.
func (h *Health) retain(p part, listed map[types.UID]bool, page bool) {
	if page {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.broken[p], func(uid types.UID, _ string) bool { return !listed[uid] })
}

// Unreadable returns how many objects of a kind exist that Go can't read.
func (h *Health) Unreadable(gk schema.GroupKind) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.numbers()[gk]
}

// Err returns an error that names the kinds which can't be watched, or nil.
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

// numbers returns how many unreadable objects there are of each kind. The lock mu must be held.
func (h *Health) numbers() map[schema.GroupKind]int {
	all := map[schema.GroupKind]int{}
	for p, objects := range h.broken {
		all[p.GroupKind] += len(objects)
	}
	return all
}

// Metrics returns the metrics of a Health. Label pack tells several of them apart.
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
