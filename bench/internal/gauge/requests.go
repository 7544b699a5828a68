package gauge

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// requestMetric is the API server's counter of answered requests.
const requestMetric = "apiserver_request_total"

// Request has the labels of apiserver_request_total that distinguish requests.
type Request struct{ Verb, Group, Resource, Subresource string }

// String returns the [Request] as text: "PATCH usages.protection.crossplane.io/status".
func (k Request) String() string {
	text := k.Verb + " " + k.Resource
	if k.Group != "" {
		text += "." + k.Group
	}
	if k.Subresource != "" {
		text += "/" + k.Subresource
	}
	return text
}

// Class returns the [Class] of a [Request]: a write always reaches etcd, a read may not, and a
// review (a POST) only checks rights.
func (k Request) Class() Class {
	switch {
	case k.Group == "authorization.k8s.io" || k.Group == "authentication.k8s.io":
		return Reviews
	case k.Verb == "GET" || k.Verb == "LIST":
		return Reads
	default:
		return Writes
	}
}

// Class is a cost class of requests.
type Class string

// Reads, Writes and Reviews are the values of [Class].
const (
	Reads   Class = "reads"
	Writes  Class = "writes"
	Reviews Class = "reviews"
)

// Counts has a number of requests for each [Request].
type Counts map[Request]int

// Minus subtracts other. The result has no [Request] with equal counts.
func (c Counts) Minus(other Counts) Counts {
	result := Counts{}
	for key := range merged(c, other) {
		if d := c[key] - other[key]; d != 0 {
			result[key] = d
		}
	}
	return result
}

func merged(a, b Counts) Counts {
	all := maps.Clone(a)
	if all == nil {
		all = Counts{}
	}
	for key := range b {
		all[key] += b[key]
	}
	return all
}

// Total returns the number of requests.
func (c Counts) Total() int {
	sum := 0
	for _, n := range c {
		sum += n
	}
	return sum
}

// Of returns the number of requests of a [Class].
func (c Counts) Of(wanted Class) int {
	sum := 0
	for key, n := range c {
		if key.Class() == wanted {
			sum += n
		}
	}
	return sum
}

// IsCounted reports whether a [Request] has a resource and ends. The API server counts a WATCH only
// at its end, and /healthz and /metrics have no resource.
func (k Request) IsCounted() bool {
	return k.Resource != "" && k.Verb != "WATCH" && k.Verb != "CONNECT"
}

// ReadCounts reads apiserver_request_total from an API server.
func ReadCounts(ctx context.Context, server rest.Interface) (Counts, error) {
	metrics, err := server.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("get the API server's metrics: %w", err)
	}
	return parseCounts(metrics)
}

// parseCounts parses apiserver_request_total in the API server's /metrics.
func parseCounts(metrics []byte) (Counts, error) {
	// The lines of all other metrics are 100 times as many: TextToMetricFamilies of all would cost
	// more than most measured operations.
	var relevant bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(metrics))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte(requestMetric+"{")) {
			relevant.Write(lines.Bytes())
			relevant.WriteByte('\n')
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&relevant)
	if err != nil {
		return nil, fmt.Errorf("parse metrics: %w", err)
	}
	result := Counts{}
	for _, metric := range families[requestMetric].GetMetric() {
		if key := keyOf(metric); key.IsCounted() {
			result[key] += int(value(metric))
		}
	}
	return result, nil
}

func keyOf(metric *dto.Metric) Request {
	var key Request
	for _, label := range metric.GetLabel() {
		switch label.GetName() {
		case "verb":
			key.Verb = label.GetValue()
		case "group":
			key.Group = label.GetValue()
		case "resource":
			key.Resource = label.GetValue()
		case "subresource":
			key.Subresource = label.GetValue()
		}
	}
	return key
}

// value returns the value of a counter. Without a TYPE line, expfmt.TextParser returns a counter as
// Untyped.
func value(metric *dto.Metric) float64 {
	if metric.GetUntyped() != nil {
		return metric.GetUntyped().GetValue()
	}
	return metric.GetCounter().GetValue()
}
