package openstack_test

import (
	"testing"

	"github.com/kinship-dev/kinship/test/operator"
)

// TestOpenStack runs everything that needs nothing but an operator, with one for
// all.
func TestOpenStack(t *testing.T) {
	operator.Start(t, only)
	for name, test := range map[string]func(*testing.T){
		"network minimal": testNetworkMinimal,
		"subnet waits":    testSubnetWaits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}
