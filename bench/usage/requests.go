package main

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// requestMetric is the API server's counter of the requests it answered.
const requestMetric = "apiserver_request_total"

// requestKey tells requests apart, in the API server's own words.
type requestKey struct{ Verb, Group, Resource, Subresource string }

// String is "PATCH usages.protection.crossplane.io/status", say.
func (k requestKey) String() string {
	text := k.Verb + " " + k.Resource
	if k.Group != "" {
		text += "." + k.Group
	}
	if k.Subresource != "" {
		text += "/" + k.Subresource
	}
	return text
}

// class says what a request costs: a write goes to etcd, a read does not have
// to, and a review is a question of rights, asked by POST.
func (k requestKey) class() class {
	switch {
	case k.Group == "authorization.k8s.io" || k.Group == "authentication.k8s.io":
		return reviews
	case k.Verb == "GET" || k.Verb == "LIST":
		return reads
	default:
		return writes
	}
}

type class string

const (
	reads   class = "reads"
	writes  class = "writes"
	reviews class = "reviews"
)

// counts are numbers of requests.
type counts map[requestKey]int

// minus subtracts, and leaves out what does not differ.
func (c counts) minus(other counts) counts {
	result := counts{}
	for key := range merged(c, other) {
		if d := c[key] - other[key]; d != 0 {
			result[key] = d
		}
	}
	return result
}

func merged(a, b counts) counts {
	all := maps.Clone(a)
	if all == nil {
		all = counts{}
	}
	for key := range b {
		all[key] += b[key]
	}
	return all
}

func (c counts) total() int {
	sum := 0
	for _, n := range c {
		sum += n
	}
	return sum
}

func (c counts) of(wanted class) int {
	sum := 0
	for key, n := range c {
		if key.class() == wanted {
			sum += n
		}
	}
	return sum
}

// requestCount is one line of a breakdown.
type requestCount struct {
	Request string `json:"request"`
	Count   int    `json:"count"`
}

// sorted lists the most frequent requests first.
func (c counts) sorted() []requestCount {
	lines := map[string]int{}
	for key, n := range c {
		lines[key.String()] = n
	}
	return sortedCounts(lines)
}

// isCounted leaves out what has no end or no object: a watch is counted when it
// ends, whoever began it, and health checks and metrics have no resource.
func (k requestKey) isCounted() bool {
	return k.Resource != "" && k.Verb != "WATCH" && k.Verb != "CONNECT"
}

// parseCounts reads the counter of requests from the API server's metrics.
func parseCounts(metrics []byte) (counts, error) {
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
	result := counts{}
	for _, metric := range families[requestMetric].GetMetric() {
		if key := keyOf(metric); key.isCounted() {
			result[key] += int(value(metric))
		}
	}
	return result, nil
}

func keyOf(metric *dto.Metric) requestKey {
	var key requestKey
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
