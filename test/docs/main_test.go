package docs_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/testenv"
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
	folder, err := os.MkdirTemp("", "kinship-docs-")
	if err != nil {
		panic(err)
	}
	if err := writeDefinitions(folder); err != nil {
		panic(err)
	}
	testenv.Main(m, testenv.CRDs(folder, "../../config/crd"))
}

func writeDefinitions(folder string) error {
	all, err := catalogue.Embedded()
	if err != nil {
		return err
	}
	for _, pattern := range enabled {
		kinds, err := all.Match(pattern)
		if err != nil {
			return err
		}
		for _, k := range kinds {
			crd, err := catalogue.CRD(all, []*catalogue.Kind{k})
			if err != nil {
				return err
			}
			text, err := yaml.Marshal(crd)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, crd.GetName()+".yaml"), text, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}
