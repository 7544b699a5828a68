package docs_test

import (
	"context"
	"os"
	"testing"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// programVar is the environment variable that makes the test binary run as the program kinship.
const programVar = "KINSHIP_TEST_DOCS"

// enabled are the Azure types of docs/packs/azure.md. The garbage collector learns of kinds at its start.
var enabled = []string{
	"Microsoft.Resources/resourceGroups", "Microsoft.Network/virtualNetworks*", "Microsoft.Network/routeTables*",
	"Microsoft.Network/networkSecurityGroups", "Microsoft.Network/publicIPAddresses",
	"Microsoft.Network/networkInterfaces", "Microsoft.Network/loadBalancers",
	"Microsoft.Compute/virtualMachineScaleSets", "Microsoft.Batch/batchAccounts*",
}

func TestMain(m *testing.M) {
	if os.Getenv(programVar) != "" {
		os.Exit(cli.Main(context.Background(), "test", os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	all, err := catalogue.Embedded()
	if err != nil {
		panic(err)
	}
	var kinds []*catalogue.Kind
	for _, pattern := range enabled {
		found, err := all.Match(pattern)
		if err != nil {
			panic(err)
		}
		kinds = append(kinds, found...)
	}
	folder, err := operator.Definitions(all, kinds)
	if err != nil {
		panic(err)
	}
	testenv.Main(m, testenv.TemporaryCRDs(folder), testenv.CRDs("../../config/crd"))
}
