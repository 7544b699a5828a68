package gauge

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCounts(t *testing.T) {
	metrics, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseCounts(metrics)
	if err != nil {
		t.Fatal(err)
	}
	usages := Request{Verb: "PATCH", Group: "protection.crossplane.io", Resource: "usages", Subresource: "status"}
	want := Counts{
		{Verb: "GET", Resource: "configmaps"}: 15,
		usages:                                1_200_000,
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
	get := Request{Verb: "GET", Resource: "configmaps"}
	apply := Request{Verb: "APPLY", Resource: "configmaps"}
	review := Request{Verb: "POST", Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}
	before := Counts{get: 5, apply: 1}
	after := Counts{get: 5, apply: 4, review: 2}

	got := after.Minus(before)
	if diff := cmp.Diff(Counts{apply: 3, review: 2}, got); diff != "" {
		t.Errorf("what did not change is left out (-want +got):\n%s", diff)
	}
	if got.Total() != 5 || got.Of(Writes) != 3 || got.Of(Reads) != 0 || got.Of(Reviews) != 2 {
		t.Errorf("a review is a POST that writes nothing: %v", got)
	}
}
