package relation

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// reading is the history of a Watcher's informers. Its fields are guarded by Watcher.mu.
type reading struct {
	reads    int           // how often a kind was read from its beginning
	unread   int           // informers that run and have not read their kind yet
	since    time.Time     // since when unread is not 0
	doubtful time.Duration // how long unread was not 0, without the time since then
}

// begin records that an informer starts to read its kind.
func (r *reading) begin(now time.Time) {
	if r.unread == 0 {
		r.since = now
	}
	r.unread++
}

// end records that an informer has read its kind, or was stopped before.
func (r *reading) end(now time.Time, read bool) {
	if read {
		r.reads++
	}
	if r.unread--; r.unread == 0 {
		r.doubtful += now.Sub(r.since)
	}
}

// doubt returns how long at least one kind in use was not read.
func (r *reading) doubt(now time.Time) time.Duration {
	if r.unread == 0 {
		return r.doubtful
	}
	return r.doubtful + now.Sub(r.since)
}

// Metrics returns the metrics of a Watcher: the kinds in use, the objects that the stores hold,
// how often a kind was read, and how long at least one kind in use was not read. Label pack tells
// the Watchers of several packs apart.
func (w *Watcher) Metrics(pack string) prometheus.Collector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, prometheus.Labels{"pack": pack})
	}
	return watcherMetrics{
		watcher: w,
		kinds:   describe("kinship_watch_kinds", "Kinds that are watched because an object refers to them."),
		objects: describe("kinship_watch_objects", "Objects whose metadata the operator holds.", "group", "kind"),
		reads:   describe("kinship_watch_reads_total", "How often a kind was read from its beginning."),
		doubt: describe("kinship_watch_doubt_seconds_total",
			"Time during which at least one watched kind was not read yet."),
	}
}

type watcherMetrics struct {
	watcher                      *Watcher
	kinds, objects, reads, doubt *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (m watcherMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.kinds, m.objects, m.reads, m.doubt} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (m watcherMetrics) Collect(metrics chan<- prometheus.Metric) {
	m.watcher.mu.RLock()
	defer m.watcher.mu.RUnlock()
	gauge := func(desc *prometheus.Desc, value int, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	watched := 0
	for gk, k := range m.watcher.kinds {
		if k.cancel == nil {
			continue // The cluster does not serve the kind. Its name is an author's, not a label.
		}
		watched++
		if k.synced {
			gauge(m.objects, k.store.size(), gk.Group, gk.Kind)
		}
	}
	gauge(m.kinds, watched)
	metrics <- prometheus.MustNewConstMetric(m.reads, prometheus.CounterValue, float64(m.watcher.reading.reads))
	metrics <- prometheus.MustNewConstMetric(m.doubt, prometheus.CounterValue,
		m.watcher.reading.doubt(time.Now()).Seconds())
}
