package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
)

func TestSince(t *testing.T) {
	create := gauge.Request{Verb: "POST", Group: "g", Resource: "usages"}
	patch := gauge.Request{Verb: "PATCH", Group: "g", Resource: "usages"}
	start := time.Unix(1000, 0)
	before := reading{
		at: start, server: gauge.Counts{create: 10}, own: gauge.Counts{create: 7},
		processes: map[string]gauge.Process{operatorProcess: {CPU: time.Second}},
	}
	after := reading{
		at: start.Add(2 * time.Second), server: gauge.Counts{create: 20, patch: 30}, own: gauge.Counts{create: 17},
		processes: map[string]gauge.Process{operatorProcess: {CPU: 3 * time.Second, RSS: 50e6, Peak: 60e6}},
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
