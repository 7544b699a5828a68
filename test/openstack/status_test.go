package openstack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

// testLongStatus imports a resource with more and longer values than the spec of its kind
// allows: the status accepts it, cut at its limits.
func testLongStatus(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("ü", kit.LongestText)
	w.post(w.client((*openstack.Scope).Identity), "services",
		fmt.Sprintf(`{"service":{"name":"theirs","type":"some","description":%q}}`, long))
	network := w.post(w.admin(), "networks", `{"network":{"name":"theirs"}}`)
	var servers []string
	for i := range 20 {
		servers = append(servers, fmt.Sprintf("10.0.0.%d", i+1))
	}
	w.post(w.admin(), "subnets", fmt.Sprintf(
		`{"subnet":{"name":"theirs","network_id":%q,"ip_version":4,"cidr":"10.0.0.0/24","dns_nameservers":["%s"]}}`,
		network, strings.Join(servers, `","`)))
	for _, kind := range []string{"Service", "Subnet"} {
		w.apply(imported(kind, "import", fmt.Sprintf(byName, "theirs")))
		w.available(kind, "import")
	}
	w.reports("Service", "import", map[string]any{"description": long[:kit.LongestText]})
	all := make([]any, len(servers))
	for i := range servers {
		all[i] = servers[i]
	}
	w.reports("Subnet", "import", map[string]any{"dnsNameservers": all})
}
