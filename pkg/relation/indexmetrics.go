package relation

import "github.com/prometheus/client_golang/prometheus"

// Metrics returns the metrics of an Index: the numbers of nodes and edges ([Index.Size]). Label pack tells
// the indexes of several packs apart.
func (x *Index) Metrics(pack string) prometheus.Collector {
	constant := prometheus.Labels{"pack": pack}
	return indexMetrics{
		x,
		prometheus.NewDesc("kinship_graph_nodes",
			"Objects and selectors that the relations of a pack connect.", nil, constant),
		prometheus.NewDesc("kinship_graph_edges", "Relations between objects that a pack knows.", nil, constant),
	}
}

type indexMetrics struct {
	index        *Index
	nodes, edges *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (m indexMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.nodes
	descs <- m.edges
}

// Collect implements prometheus.Collector.
func (m indexMetrics) Collect(metrics chan<- prometheus.Metric) {
	nodes, edges := m.index.Size()
	metrics <- prometheus.MustNewConstMetric(m.nodes, prometheus.GaugeValue, float64(nodes))
	metrics <- prometheus.MustNewConstMetric(m.edges, prometheus.GaugeValue, float64(edges))
}
