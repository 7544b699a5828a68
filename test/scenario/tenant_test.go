package scenario

import (
	"testing"

	"github.com/kinship-dev/kinship/test/operator"
)

// TestTenant runs stories of a tenant who tries to get more than his rights. The operator is a process of its own, with
// the webhooks and policies of three packs.
func TestTenant(t *testing.T) {
	operator.Exec(t, "--packs", "usage,oam,openstack")
	tell(t, "tenant", nil)
}
