package openstack

import (
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// calls returns the metric for requests to clouds. The name of the metric is part of the API;
// docs/metrics.md lists it.
func calls() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "kinship_openstack_request_duration_seconds",
		Help: "Time from a request to a cloud until its answer begins.", Buckets: []float64{.01, .05, .1, .25, .5, 1, 5, 30},
	}, []string{"service", "resource", "method", "code"})
}

// otherwise is the label value for services, resources and codes that are not listed.
const otherwise = "other"

// collections are the resources with a label value of their own, by service. A user may choose
// the URL of a cloud and the IDs in its paths, and the metric would keep every label value for
// ever.
var collections = map[string][]string{
	"network": {
		"networks", "subnets", "routers", "ports", "security-groups", "security-group-rules", "floatingips", "trunks",
		"address-scopes",
	},
	"compute": {"servers", "flavors", "os-keypairs", "os-server-groups"},
	"image":   {"images", "info"},
	"identity": {
		"auth", "domains", "projects", "users", "groups", "roles", "role_assignments", "services", "endpoints",
	},
	"volume":    {"volumes", "types"},
	"share":     {"share-networks"},
	"discovery": nil,
}

// codes are the status codes with a label value of their own. 0 means no answer.
var codes = []int{0, 200, 201, 202, 204, 300, 400, 401, 403, 404, 409, 413, 429, 500, 502, 503, 504}

// observed returns a function that counts a call.
func observed(v *prometheus.HistogramVec) func(openstack.Call) {
	return func(c openstack.Call) {
		resources, known := collections[c.Service]
		if !known {
			c.Service = otherwise
		}
		if !known || (c.Resource != "" && !slices.Contains(resources, c.Resource)) {
			c.Resource = otherwise
		}
		code := otherwise
		if slices.Contains(codes, c.Status) {
			code = strconv.Itoa(c.Status)
		}
		v.WithLabelValues(c.Service, c.Resource, c.Method, code).Observe(c.Duration.Seconds())
	}
}
