package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSince(t *testing.T) {
	create := requestKey{Verb: "POST", Group: "g", Resource: "usages"}
	patch := requestKey{Verb: "PATCH", Group: "g", Resource: "usages"}
	start := time.Unix(1000, 0)
	before := reading{
		at: start, server: counts{create: 10}, own: counts{create: 7},
		processes: map[string]process{operatorProcess: {cpu: time.Second}},
	}
	after := reading{
		at: start.Add(2 * time.Second), server: counts{create: 20, patch: 30}, own: counts{create: 17},
		processes: map[string]process{operatorProcess: {cpu: 3 * time.Second, rss: 50e6, peak: 60e6}},
	}
	got, err := (&meter{}).since(before, after)
	if err != nil {
		t.Fatal(err)
	}
	want := cost{
		Seconds: 2, Requests: 30, Writes: 30, Own: 10,
		Processes: map[string]load{operatorProcess: {CPUSeconds: 2, MemoryMB: 50, PeakMB: 60}},
		Breakdown: []requestCount{{"PATCH usages.g", 30}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the generator sent is nobody else's cost (-want +got):\n%s", diff)
	}
}
