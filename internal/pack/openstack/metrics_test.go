package openstack

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// TestCloudsOfTheMetric: who makes up addresses of clouds makes no more series.
func TestCloudsOfTheMetric(t *testing.T) {
	v, registry := calls(), prometheus.NewRegistry()
	if err := registry.Register(v); err != nil {
		t.Fatal(err)
	}
	observe := observed(v)
	for range 2 {
		for i := range 10 * mostClouds {
			observe(openstack.Call{Cloud: fmt.Sprintf("https://%d.example", i)})
		}
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("%d metrics: %v", len(families), err)
	}
	if n := len(families[0].GetMetric()); n != mostClouds+1 {
		t.Errorf("%d series, want %d", n, mostClouds+1)
	}
}
