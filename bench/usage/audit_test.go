package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCountClients(t *testing.T) {
	got, err := auditBetween("testdata/audit.log", 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"op as sa:op: patch usages.g/status":   2,
		"kubectl as admin: get of no resource": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("neither watches nor our own requests are counted (-want +got):\n%s", diff)
	}
}

func TestCountClientsRefusesGarbage(t *testing.T) {
	if _, err := countClients(strings.NewReader("{\"verb\":")); err == nil {
		t.Error("half a line must not be taken for no request")
	}
}
