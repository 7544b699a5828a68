package testenv

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Request is a sort of request, as the API server's metrics count requests.
type Request struct {
	// Verb is in capitals: GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE,
	// DELETECOLLECTION.
	Verb string
	// Group is empty for the core group.
	Group string
	// Resource is the plural, in lower case.
	Resource string
	// Subresource is empty for the object itself.
	Subresource string
	// Code is the HTTP status.
	Code string
}

// Counts tells how many requests of each sort the API server has answered.
type Counts map[Request]int

// Requests reads the counts since the API server started. Two readings and
// [Counts.Since] tell what happened between them:
//
//	before := testenv.Requests(t)
//	...
//	writes := testenv.Requests(t).Since(before).Writes().Of("usage.kinship.dev", "usages")
//
// They count everybody's requests, the controllers' too, so ask for the
// resources under test. A watch is counted when it ends.
func Requests(tb testing.TB) Counts {
	tb.Helper()
	counts, err := readRequests(tb.Context(), Config(tb))
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return counts
}

// Since returns the requests that were counted after before was read ([RequestCounts]).
func (c Counts) Since(before Counts) Counts {
	added := Counts{}
	for request, n := range c {
		if n > before[request] {
			added[request] = n - before[request]
		}
	}
	return added
}

// Where returns the counts of each [Request] for which keep returns true.
func (c Counts) Where(keep func(Request) bool) Counts {
	kept := maps.Clone(c)
	maps.DeleteFunc(kept, func(request Request, _ int) bool { return !keep(request) })
	return kept
}

// Of returns the counts for one resource and its subresources, such as networks and
// networks/status.
func (c Counts) Of(group, resource string) Counts {
	return c.Where(func(r Request) bool { return r.Group == group && r.Resource == resource })
}

var readVerbs = []string{"GET", "LIST", "WATCH", "CONNECT"}

// Writes returns the counts of POST, PUT, PATCH and DELETE, including refused requests, which cost
// as much.
func (c Counts) Writes() Counts {
	return c.Where(func(r Request) bool { return !slices.Contains(readVerbs, r.Verb) })
}

// Total returns the number of requests.
func (c Counts) Total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}

// String lists the counts, one sort per line, in a fixed order.
func (c Counts) String() string {
	lines := make([]string, 0, len(c))
	for r, n := range c {
		resource := strings.Trim(r.Group+"/"+r.Resource+"/"+r.Subresource, "/")
		lines = append(lines, fmt.Sprintf("%s %s %s: %d", resource, r.Verb, r.Code, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

const requestsMetric = "apiserver_request_total"

func readRequests(ctx context.Context, config *rest.Config) (Counts, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	text, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	return parseRequests(text)
}

func parseRequests(text []byte) (Counts, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(onlyRequests(text)))
	if err != nil {
		return nil, fmt.Errorf("parse the API server's metrics: %w", err)
	}
	counts := Counts{}
	for _, metric := range families[requestsMetric].GetMetric() {
		labels := map[string]string{}
		for _, pair := range metric.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		request := Request{
			Verb: labels["verb"], Group: labels["group"], Resource: labels["resource"],
			Subresource: labels["subresource"], Code: labels["code"],
		}
		counts[request] += int(metric.GetCounter().GetValue())
	}
	return counts, nil
}

// onlyRequests keeps the few lines of interest: to parse all of the API server's
// metrics takes a hundred times longer.
func onlyRequests(text []byte) []byte {
	var kept bytes.Buffer
	for line := range bytes.Lines(text) {
		if bytes.Contains(line[:min(len(line), len("# TYPE "+requestsMetric))], []byte(requestsMetric)) {
			kept.Write(line)
		}
	}
	return kept.Bytes()
}
