package iot_test

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
)

func TestMain(m *testing.M) {
	// The garbage collector learns of kinds that come later half a minute later.
	testenv.Main(m, testenv.CRDs("../../config/crd", "testdata/podidentity.yaml"), testenv.CheckLeaks())
}
