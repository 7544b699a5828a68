package oam_test

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.WithoutPods(), testenv.GroupCRDs("../../config/crd", "core.oam.dev"),
		testenv.CRDs("../../examples/oam/definitions.yaml"))
}
