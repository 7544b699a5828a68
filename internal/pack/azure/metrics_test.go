package azure

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// TestLabelsOfRequests: types and answers that a user or a server makes up add no series.
func TestLabelsOfRequests(t *testing.T) {
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	v := calls()
	observe := observed(v, all)
	for i := range 1000 {
		observe(azure.Call{Type: fmt.Sprintf("Mine.%d/things", i), Method: "GET", Status: 200})
		observe(azure.Call{Type: fmt.Sprintf("Microsoft.Network/mine%d", i), Method: "GET", Status: 600 + i})
	}
	observe(azure.Call{Type: "Microsoft.Network/virtualNetworks", Method: "PUT", Status: 201})
	observe(azure.Call{Type: "operation", Method: "GET"})
	const series = 4
	if n := testutil.CollectAndCount(v); n != series {
		t.Errorf("%d series, want %d", n, series)
	}
	for _, want := range [][]string{
		{"other", "GET", "200"},
		{"microsoft.network", "GET", "other"},
		{"microsoft.network", "PUT", "201"},
		{"operation", "GET", "0"},
	} {
		v.DeleteLabelValues(want...)
	}
	if n := testutil.CollectAndCount(v); n != 0 {
		t.Errorf("%d series are others than wanted", n)
	}
}
