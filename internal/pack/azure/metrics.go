package azure

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// calls returns the metric for requests to Azure. The name of the metric is part of the API;
// docs/metrics.md lists the name.
func calls() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "kinship_azure_request_duration_seconds",
		Help: "Time from a request to Azure until its answer begins.", Buckets: []float64{.01, .05, .1, .25, .5, 1, 5, 30},
	}, []string{"provider", "method", "code"})
}

// otherwise is the label value for providers and codes that observed does not list, and operation
// the label value for polls of long operations.
const (
	otherwise = "other"
	operation = "operation"
)

// codes are the HTTP status codes with a label value of their own. 0 means no answer.
var codes = []int{0, 200, 201, 202, 204, 400, 401, 403, 404, 409, 412, 413, 429, 500, 502, 503, 504}

// observed returns a function that counts an azure.Call. The label value is a provider of the
// catalogue, such as microsoft.network: users choose the types in ARM ids, so the types can't be
// label values.
func observed(v *prometheus.HistogramVec, kinds *catalogue.Catalogue) func(azure.Call) {
	providers := map[string]bool{operation: true}
	for _, k := range kinds.Kinds() {
		providers[providerOf(k.Type)] = true
	}
	return func(c azure.Call) {
		provider, code := providerOf(c.Type), otherwise
		if !providers[provider] {
			provider = otherwise
		}
		if slices.Contains(codes, c.Status) {
			code = strconv.Itoa(c.Status)
		}
		v.WithLabelValues(provider, c.Method, code).Observe(c.Duration.Seconds())
	}
}

// providerOf returns the provider of an ARM type, such as microsoft.network.
func providerOf(armType string) string {
	provider, _, _ := strings.Cut(armType, "/")
	return strings.ToLower(provider)
}
