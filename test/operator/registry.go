package operator

import (
	"regexp"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// registry is a registry of metrics that remembers what is registered: a metric with labels has no values, and
// so is in no scrape, before it is used.
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

// described is a prometheus.Desc as text.
var described = regexp.MustCompile(`fqName: "([^"]+)".*constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)

// Described returns the labels of the metrics that the operator in this process has registered, by the names
// of the metrics.
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
