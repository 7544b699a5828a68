package iot_test

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

func TestMain(m *testing.M) {
	operator.Packs("iot")
	// The garbage collector learns of kinds that come later half a minute later.
	crds := testenv.GroupCRDs("../../config/crd", "services.azurehealthcareapis.com", "kinship.dev")
	testenv.Main(m, crds, testenv.CRDs("testdata/podidentity.yaml"), testenv.CheckLeaks())
}
