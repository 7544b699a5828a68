package openstack

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// TestLabelsOfRequests: made-up addresses, paths and answers add no series.
func TestLabelsOfRequests(t *testing.T) {
	v, registry := calls(), prometheus.NewRegistry()
	if err := registry.Register(v); err != nil {
		t.Fatal(err)
	}
	observe := observed(v)
	for i := range 1000 {
		observe(openstack.Call{
			Cloud: fmt.Sprintf("https://%d.example", i), Service: "network", Resource: fmt.Sprint("r", i), Method: "GET",
			Status: 100 + i%900,
		})
		observe(openstack.Call{Service: fmt.Sprint("s", i), Resource: "networks", Method: "GET", Status: 200})
		observe(openstack.Call{Service: "compute", Resource: "networks", Method: "GET", Status: 200})
	}
	observe(openstack.Call{Service: "network", Resource: "networks", Method: "POST", Status: 201})
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("%d metrics: %v", len(families), err)
	}
	all := make([]string, 0, len(families[0].GetMetric()))
	for _, m := range families[0].GetMetric() {
		var one string
		for _, label := range m.GetLabel() {
			one += " " + label.GetValue()
		}
		all = append(all, one)
	}
	if most := len(codes) + 3; len(all) > most {
		t.Errorf("%d series, want at most %d: %v", len(all), most, all)
	}
	for _, want := range []string{" 201 POST networks network", " 200 GET other compute", " other GET other network"} {
		if !slices.Contains(all, want) {
			t.Errorf("%q is not in %q", want, all)
		}
	}
}
