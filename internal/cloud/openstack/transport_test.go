package openstack

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// TestUnderway: only a few of many calls to one service are in progress at once, and calls to
// another service do not wait for them.
func TestUnderway(t *testing.T) {
	t.Parallel()
	const most = 3
	var underway atomic.Int64
	full, release := make(chan struct{}), make(chan struct{})
	isFull := sync.OnceFunc(func() { close(full) })
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/slow/" {
			return
		}
		defer underway.Add(-1)
		switch n := underway.Add(1); {
		case n == most:
			isFull()
		case n > most:
			t.Errorf("%d calls are under way at once, want at most %d", n, most)
		}
		<-release
	}))
	t.Cleanup(server.Close)
	cloud := &Cloud{options: gophercloud.AuthOptions{IdentityEndpoint: server.URL}}
	wire, err := New(Options{Calls: most, Open: Loopback}).transport(cloud)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wire.close)
	wire.know("slow", server.URL+"/slow/")
	wire.know("quick", server.URL+"/quick/")
	call := func(path string) {
		response, err := (&http.Client{Transport: wire}).Get(server.URL + path)
		if err != nil {
			t.Error(err)
			return
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	var calls sync.WaitGroup
	for range 10 * most {
		calls.Go(func() { call("/slow/") })
	}
	<-full
	call("/quick/")
	<-time.After(20 * time.Millisecond) // For callers that would not wait.
	close(release)
	calls.Wait()
}

// TestLimitersAreBounded: a tenant with many made-up places does not fill the memory, and a
// place with a scope keeps its limiter.
func TestLimitersAreBounded(t *testing.T) {
	t.Parallel()
	clouds := New(Options{MaxScopes: 3})
	used := clouds.limiter("used")
	clouds.scopes["one"] = &Scope{wire: &transport{limiter: used}}
	for i := range 100 {
		place := strconv.Itoa(i)
		if l := clouds.limiter(place); clouds.limiter(place) != l {
			t.Errorf("place %s has two limiters", place)
		}
	}
	if n := len(clouds.limiters); n > 3 {
		t.Errorf("%d limiters", n)
	}
	if clouds.limiter("used") != used {
		t.Error("a limiter is forgotten that a scope has")
	}
}

// TestDotsInPaths: a request whose path has a part that is . or .. is not sent, in any spelling. A server that drops
// such a part would take the request for one about another resource.
func TestDotsInPaths(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Add(1) }))
	t.Cleanup(server.Close)
	cloud := &Cloud{options: gophercloud.AuthOptions{IdentityEndpoint: server.URL}}
	wire, err := New(Options{Open: Loopback}).transport(cloud)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wire.close)
	for path, refused := range map[string]bool{
		"/flavors/id/os-extra_specs/..": true, "/flavors/%2e%2E": true, "/os-keypairs/a%2F..%2Fb": true, "/flavors/.": true,
		"/flavors/../servers/id": true, "/flavors/..a": false, "/flavors/...": false, "/flavors/a.b?x=../y": false,
	} {
		before := sent.Load()
		response, err := (&http.Client{Transport: wire}).Get(server.URL + path)
		if err == nil {
			err = response.Body.Close()
		}
		isRefused := err != nil && Classify(err).Class == Invalid
		if isRefused != refused || (sent.Load() == before) != refused {
			t.Errorf("%s: refused %t, want %t; sent %t; %v", path, isRefused, refused, sent.Load() > before, err)
		}
	}
}
