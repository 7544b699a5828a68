package usage_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// proxy forwards requests to the API server and records them. Unlike the API server's own
// metrics, proxy knows which client sent a request.
type proxy struct {
	server *httptest.Server
	admin  *rest.Config // for requests that bring no credentials
	direct *rest.Config

	mu     sync.Mutex
	seen   []request
	delays []*delayed
}

// request is one request of the operator.
type request struct {
	method, path, query, body string
	at                        time.Time
}

// delayed delays the first request that matches, until it is released.
type delayed struct {
	matches []func(request) bool
	arrived chan struct{}
	let     chan struct{}
	once    sync.Once
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	p := &proxy{admin: testenv.Config(t)}
	p.direct = rest.AnonymousClientConfig(p.admin)
	target, err := url.Parse(p.admin.Host)
	if err != nil {
		t.Fatal(err)
	}
	asAdmin, err := rest.TransportFor(p.admin)
	if err != nil {
		t.Fatal(err)
	}
	asSender, err := rest.TransportFor(p.direct)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		FlushInterval: -1, // Watches stream.
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
		},
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Authorization") == "" {
				return asAdmin.RoundTrip(r)
			}
			return asSender.RoundTrip(r)
		}),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := p.note(r); err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(p.server.Close)
	return p
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// config returns the operator's config for the proxy.
func (p *proxy) config() *rest.Config { return &rest.Config{Host: p.server.URL} }

// note records a request and delays it if a test has requested that.
func (p *proxy) note(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	req := request{method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, body: string(body), at: time.Now()}
	p.mu.Lock()
	p.seen = append(p.seen, req)
	i := slices.IndexFunc(p.delays, func(h *delayed) bool { return req.is(h.matches) })
	var h *delayed
	if i >= 0 {
		h = p.delays[i]
		p.delays = slices.Delete(p.delays, i, i+1)
	}
	p.mu.Unlock()
	if h != nil {
		close(h.arrived)
		<-h.let
	}
	return nil
}

// delay delays the next request for which all matches return true. The matches run while other
// requests are served, so each of them gets its values when the test calls delay, as about
// does, and reads nothing that the test writes later.
func (p *proxy) delay(t *testing.T, matches ...func(request) bool) *delayed {
	t.Helper()
	h := &delayed{matches: matches, arrived: make(chan struct{}), let: make(chan struct{})}
	p.mu.Lock()
	p.delays = append(p.delays, h)
	p.mu.Unlock()
	t.Cleanup(h.letGo)
	return h
}

// letGo passes the request on.
func (h *delayed) letGo() { h.once.Do(func() { close(h.let) }) }

// await waits until the request has come.
func (h *delayed) await(t *testing.T) {
	t.Helper()
	select {
	case <-h.arrived:
	case <-time.After(30 * time.Second):
		t.Fatal("the operator did not send the request that the test waits for")
	}
}

// requests returns the requests of the operator, without watches: watches are renewed now and
// then.
func (p *proxy) requests(matches ...func(request) bool) requests {
	return slices.DeleteFunc(p.all(matches...), func(r request) bool { return strings.Contains(r.query, "watch=true") })
}

// all is requests with the watches.
func (p *proxy) all(matches ...func(request) bool) requests {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found requests
	for _, r := range p.seen {
		if r.is(matches) {
			found = append(found, r)
		}
	}
	return found
}

type requests []request

// String lists requests, one per line.
func (rs requests) String() string {
	var b strings.Builder
	for _, r := range rs {
		b.WriteString(r.method + " " + r.path + "?" + r.query + " " + r.body + "\n")
	}
	return b.String()
}

// is says whether all of matches are true for a request.
func (r request) is(matches []func(request) bool) bool {
	return !slices.ContainsFunc(matches, func(m func(request) bool) bool { return !m(r) })
}

// at matches requests to one path.
func at(path string) func(request) bool {
	return func(r request) bool { return r.path == path }
}

// about matches requests about a namespace, or about an object's path.
func about(part string) func(request) bool {
	return func(r request) bool { return strings.Contains(r.path+"/", "/"+part+"/") }
}

func method(names ...string) func(request) bool {
	return func(r request) bool { return slices.Contains(names, r.method) }
}

func after(moment time.Time) func(request) bool {
	return func(r request) bool { return r.at.After(moment) }
}

// effective matches requests that are no dry run.
func effective(r request) bool {
	return !strings.Contains(r.query, "dryRun") && !strings.Contains(r.body, "dryRun")
}
