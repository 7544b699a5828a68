package iot_test

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

func TestMain(m *testing.M) {
	operator.Packs("iot")
	// The garbage collector learns of kinds that come later half a minute later.
	testenv.Main(m, testenv.CRDs("../../config/crd", "testdata/podidentity.yaml"), testenv.CheckLeaks())
}
