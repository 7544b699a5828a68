package main

import (
	"maps"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// ownRequests counts what this program sends, in the API server's words, so that
// it can be subtracted from what the server counted.
type ownRequests struct {
	resolver request.RequestInfoFactory

	mu    sync.Mutex
	count counts
}

func newOwnRequests() *ownRequests {
	return &ownRequests{
		resolver: request.RequestInfoFactory{
			APIPrefixes:          sets.NewString("api", "apis"),
			GrouplessAPIPrefixes: sets.NewString("api"),
		},
		count: counts{},
	}
}

// wrap has requests counted when they are answered, as the API server does.
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

// metricVerbs are the words of the counter for the words of a rule.
var metricVerbs = map[string]string{
	"get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT",
	"patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETECOLLECTION",
}

func (o *ownRequests) add(req *http.Request) {
	info, err := o.resolver.NewRequestInfo(req)
	if err != nil || !info.IsResourceRequest {
		return // The server counts it as a request of no resource.
	}
	key := requestKey{metricVerbs[info.Verb], info.APIGroup, info.Resource, info.Subresource}
	if !key.isCounted() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count[key]++
}

func (o *ownRequests) snapshot() counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.count)
}
