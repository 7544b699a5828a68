package openstack_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// receiver is a receiver of spans by OTLP over HTTP.
type receiver struct {
	t   *testing.T
	url string

	mu       sync.Mutex
	services []string
	spans    []*tracev1.Span
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, rq *http.Request) {
	var request collector.ExportTraceServiceRequest
	text, err := io.ReadAll(rq.Body)
	if err == nil {
		err = proto.Unmarshal(text, &request)
	}
	if err != nil || rq.URL.Path != "/v1/traces" {
		r.t.Errorf("%s %s: %v", rq.Method, rq.URL.Path, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range request.GetResourceSpans() {
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				r.services = append(r.services, a.GetValue().GetStringValue())
			}
		}
		for _, scope := range of.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// find returns the spans for which accept returns true.
func (r *receiver) find(accept func(*tracev1.Span) bool) (found []*tracev1.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if accept(s) {
			found = append(found, s)
		}
	}
	return found
}

// attribute returns an attribute of a span as text.
func attribute(s *tracev1.Span, name string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == name {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// TestTraces has an operator send spans to a receiver, and creates a Network. The pass that creates the Network in
// the cloud has a span with the object and the outcome, and the requests of the pass have spans below that one.
func TestTraces(t *testing.T) {
	r := newReceiver(t)
	o := operator.Start(t, func(o *options.Options) { o.Packs, o.TraceEndpoint = []string{"openstack"}, r.url })
	w := newWorld(t)
	w.apply(managed("Network", "traced", "{}"))
	w.available("Network", "traced")
	w.delete("Network", "traced")
	w.gone("Network", "traced")
	if err := o.Stop(); err != nil { // Sends the last spans.
		t.Fatal(err)
	}
	passes := r.find(func(s *tracev1.Span) bool {
		return s.GetName() == "reconcile Network" && attribute(s, "kinship.name") == "traced"
	})
	if len(passes) == 0 {
		t.Fatalf("no pass over the Network among %d spans", len(r.find(func(*tracev1.Span) bool { return true })))
	}
	for _, s := range passes {
		got := []string{
			attribute(s, "kinship.pack"), attribute(s, "kinship.group"), attribute(s, "kinship.kind"),
			attribute(s, "kinship.namespace"),
		}
		if want := []string{"openstack", "openstack.k-orc.cloud", "Network", w.ns}; !slices.Equal(got, want) {
			t.Errorf("a pass has the attributes %v, want %v", got, want)
		}
	}
	if !slices.ContainsFunc(passes, func(s *tracev1.Span) bool { return attribute(s, "kinship.outcome") == "Done" }) {
		t.Error("no pass has the outcome done")
	}
	requestsAreBelow(t, r, passes, w.admin().ServiceURL())
	roots := r.find(func(s *tracev1.Span) bool {
		return len(s.GetParentSpanId()) == 0 && !strings.HasPrefix(s.GetName(), "reconcile ")
	})
	if len(roots) > 0 {
		t.Errorf("%d requests outside of passes have spans, such as %s", len(roots), roots[0].GetName())
	}
	if len(r.services) == 0 || r.services[0] != "kinship" {
		t.Errorf("the spans are of the services %v, want kinship", r.services)
	}
}

// requestsAreBelow expects spans of a write to the API server, and of a creation in the cloud, below spans of passes.
func requestsAreBelow(t *testing.T, r *receiver, passes []*tracev1.Span, cloud string) {
	t.Helper()
	below := func(host, method string) int {
		return len(r.find(func(s *tracev1.Span) bool {
			return s.GetName() == method+" "+host && slices.ContainsFunc(passes, func(p *tracev1.Span) bool {
				return string(p.GetSpanId()) == string(s.GetParentSpanId()) && string(p.GetTraceId()) == string(s.GetTraceId())
			})
		}))
	}
	server, err := url.Parse(testenv.Config(t).Host)
	if err != nil {
		t.Fatal(err)
	}
	network, err := url.Parse(cloud)
	if err != nil {
		t.Fatal(err)
	}
	if n := below(server.Host, http.MethodPatch); n == 0 {
		t.Error("no write to the API server is below a pass")
	}
	if n := below(network.Host, http.MethodPost); n == 0 {
		t.Error("no creation in the cloud is below a pass")
	}
}
