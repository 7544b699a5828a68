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

// requestMetric is the API server's counter of the requests it answered.
const requestMetric = "apiserver_request_total"

// Request tells requests apart, in the API server's own words.
type Request struct{ Verb, Group, Resource, Subresource string }

// String is "PATCH usages.protection.crossplane.io/status", say.
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

// Class says what a request costs: a write goes to etcd, a read does not have
// to, and a review is a question of rights, asked by POST.
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

// Class is what a request costs.
type Class string

// The classes of requests.
const (
	Reads   Class = "reads"
	Writes  Class = "writes"
	Reviews Class = "reviews"
)

// Counts are numbers of requests.
type Counts map[Request]int

// Minus subtracts, and leaves out what does not differ.
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

// Total returns how many requests there were.
func (c Counts) Total() int {
	sum := 0
	for _, n := range c {
		sum += n
	}
	return sum
}

// Of returns how many of a class there were.
func (c Counts) Of(wanted Class) int {
	sum := 0
	for key, n := range c {
		if key.Class() == wanted {
			sum += n
		}
	}
	return sum
}

// IsCounted leaves out what has no end or no object: a watch is counted when it
// ends, whoever began it, and health checks and metrics have no resource.
func (k Request) IsCounted() bool {
	return k.Resource != "" && k.Verb != "WATCH" && k.Verb != "CONNECT"
}

// ReadCounts asks an API server.
func ReadCounts(ctx context.Context, server rest.Interface) (Counts, error) {
	metrics, err := server.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("get the API server's metrics: %w", err)
	}
	return parseCounts(metrics)
}

// parseCounts reads the counter of requests from the API server's metrics.
func parseCounts(metrics []byte) (Counts, error) {
	// The other metrics are a hundred times as many; parsing them would cost more
	// than most of what is measured.
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

// value finds the number: without a line that gives its type, a counter is
// parsed as untyped.
func value(metric *dto.Metric) float64 {
	if metric.GetUntyped() != nil {
		return metric.GetUntyped().GetValue()
	}
	return metric.GetCounter().GetValue()
}
