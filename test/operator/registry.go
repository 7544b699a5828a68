package operator

import (
	"regexp"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// registry is a prometheus.Registry that records each prometheus.Desc: a metric with labels has no
// value before its first use, so no scrape contains the metric.
type registry struct {
	*prometheus.Registry

	mu    sync.Mutex
	descs []*prometheus.Desc
}

// Register implements prometheus.Registerer.
func (r *registry) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		c.Describe(descs)
	}()
	for desc := range descs {
		r.mu.Lock()
		r.descs = append(r.descs, desc)
		r.mu.Unlock()
	}
	return r.Registry.Register(c)
}

// described parses the text of a prometheus.Desc.
var described = regexp.MustCompile(`fqName: "([^"]+)".*constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)

// Described returns the labels of the metrics that the operator in this process has registered, by
// the names of the metrics.
func Described() map[string][]string {
	own, ok := ctrlmetrics.Registry.(*registry)
	if !ok {
		return nil
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	all := map[string][]string{}
	for _, desc := range own.descs {
		found := described.FindStringSubmatch(desc.String())
		if found == nil {
			continue
		}
		labels := []string{}
		for label := range strings.SplitSeq(found[2]+","+found[3], ",") {
			if name, _, _ := strings.Cut(label, "="); name != "" {
				labels = append(labels, name)
			}
		}
		all[found[1]] = labels
	}
	return all
}
