package main

import (
	"maps"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
)

// ownRequests counts the requests of this program by the labels of apiserver_request_total, so that
// meter.since can subtract them from the API server's counters.
type ownRequests struct {
	resolver request.RequestInfoFactory

	mu    sync.Mutex
	count gauge.Counts
}

func newOwnRequests() *ownRequests {
	return &ownRequests{
		resolver: request.RequestInfoFactory{
			APIPrefixes:          sets.NewString("api", "apis"),
			GrouplessAPIPrefixes: sets.NewString("api"),
		},
		count: gauge.Counts{},
	}
}

// wrap counts a request after its answer, as the API server does.
func (o *ownRequests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		o.add(req)
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// metricVerbs has the verb label of apiserver_request_total for each verb of RBAC.
var metricVerbs = map[string]string{
	"get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT",
	"patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETECOLLECTION",
}

func (o *ownRequests) add(req *http.Request) {
	info, err := o.resolver.NewRequestInfo(req)
	if err != nil || !info.IsResourceRequest {
		return // The API server counts it as a request without a resource.
	}
	key := gauge.Request{
		Verb: metricVerbs[info.Verb], Group: info.APIGroup, Resource: info.Resource, Subresource: info.Subresource,
	}
	if !key.IsCounted() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count[key]++
}

func (o *ownRequests) snapshot() gauge.Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.count)
}
