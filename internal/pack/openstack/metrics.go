package openstack

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// calls is the metric of requests to clouds. Its name is part of the API;
// docs/metrics.md lists it.
func calls() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "kinship_openstack_request_duration_seconds",
		Help: "Time from a request to a cloud until its answer begins.", Buckets: []float64{.01, .05, .1, .25, .5, 1, 5, 30},
	}, []string{"cloud", "service", "resource", "method", "code"})
}

// mostClouds is how many clouds the metric tells apart, the first that were called. Who
// writes Secrets makes up addresses, and each would be kept for ever.
const mostClouds = 100

// observed counts a call. Code 0 is one that got no answer.
func observed(v *prometheus.HistogramVec) func(openstack.Call) {
	var mu sync.Mutex
	known := map[string]bool{}
	return func(c openstack.Call) {
		mu.Lock()
		if !known[c.Cloud] && len(known) == mostClouds {
			c.Cloud = "other"
		} else {
			known[c.Cloud] = true
		}
		mu.Unlock()
		v.WithLabelValues(c.Cloud, c.Service, c.Resource, c.Method, strconv.Itoa(c.Status)).Observe(c.Duration.Seconds())
	}
}
