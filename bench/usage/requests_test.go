package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const someMetrics = `# HELP apiserver_request_total [STABLE] Counter of apiserver requests.
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"} 12
apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="protection.crossplane.io",resource="usages",scope="resource",subresource="status",verb="PATCH",version="v1beta1"} 1.2e+06
apiserver_request_total{code="0",component="apiserver",dry_run="",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"} 9
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="",scope="",subresource="/readyz",verb="GET",version=""} 5
apiserver_request_terminations_total{code="503",component="apiserver",group="",resource="",scope="",subresource="",verb="GET",version=""} 7
`

func TestParseCounts(t *testing.T) {
	got, err := parseCounts([]byte(someMetrics))
	if err != nil {
		t.Fatal(err)
	}
	want := counts{
		{Verb: "GET", Resource: "configmaps"}:                                                             15,
		{Verb: "PATCH", Group: "protection.crossplane.io", Resource: "usages", Subresource: "status"}: 1_200_000,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers of one request are one, watches and health checks none (-want +got):\n%s", diff)
	}
}

func TestParseCountsOfNothing(t *testing.T) {
	got, err := parseCounts(nil)
	if err != nil || len(got) != 0 {
		t.Errorf("got %v and %v; a server that has answered nothing has no counters", got, err)
	}
}

func TestParseCountsRefusesGarbage(t *testing.T) {
	if got, err := parseCounts([]byte(requestMetric + "{verb=")); err == nil {
		t.Errorf("got %v and no error: half an answer is not a measurement", got)
	}
}

func TestCounts(t *testing.T) {
	get := requestKey{Verb: "GET", Resource: "configmaps"}
	apply := requestKey{Verb: "APPLY", Resource: "configmaps"}
	review := requestKey{Verb: "POST", Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}
	before := counts{get: 5, apply: 1}
	after := counts{get: 5, apply: 4, review: 2}

	got := after.minus(before)
	if diff := cmp.Diff(counts{apply: 3, review: 2}, got); diff != "" {
		t.Errorf("what did not change is left out (-want +got):\n%s", diff)
	}
	if got.total() != 5 || got.of(writes) != 3 || got.of(reads) != 0 || got.of(reviews) != 2 {
		t.Errorf("a review is a POST that writes nothing: %v", got)
	}
	want := []requestCount{
		{"APPLY configmaps", 3},
		{"POST subjectaccessreviews.authorization.k8s.io", 2},
	}
	if diff := cmp.Diff(want, got.sorted()); diff != "" {
		t.Errorf("the most frequent first (-want +got):\n%s", diff)
	}
}
