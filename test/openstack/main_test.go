package openstack_test

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.CRDs("../../config/crd"), testenv.WithoutPods(), testenv.KeepNamespaces(), testenv.CheckLeaks())
}
