package external

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.WithoutPods(), testenv.CRDs("../../config/crd/openstack.k-orc.cloud_networks.yaml"),
		testenv.CheckLeaks())
}
