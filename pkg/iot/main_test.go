package iot_test

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.WithoutPods(), testenv.KeepNamespaces(), testenv.CheckLeaks(),
		testenv.CRDs("../../config/crd/services.azurehealthcareapis.com_iotconnectors.yaml"))
}
