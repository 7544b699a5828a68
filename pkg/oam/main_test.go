package oam_test

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.WithoutPods(), testenv.CRDs("../../config/crd", "../../examples/oam/definitions.yaml"))
}
