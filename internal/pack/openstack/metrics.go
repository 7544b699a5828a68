package openstack

import (
	"strconv"

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

// observed counts a call. Code 0 is one that got no answer.
func observed(v *prometheus.HistogramVec) func(openstack.Call) {
	return func(c openstack.Call) {
		v.WithLabelValues(c.Cloud, c.Service, c.Resource, c.Method, strconv.Itoa(c.Status)).Observe(c.Duration.Seconds())
	}
}
