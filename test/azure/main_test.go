package azure_test

import (
	"testing"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// enabled are the types of the tests.
var enabled = []string{
	"Microsoft.Resources/resourceGroups", "Microsoft.Network/virtualNetworks", "Microsoft.Network/virtualNetworks/subnets",
	"Microsoft.Network/routeTables", "Microsoft.Network/routeTables/routes", "Microsoft.Network/networkSecurityGroups",
	"Microsoft.Network/publicIPAddresses", "Microsoft.Network/networkInterfaces", "Microsoft.Network/loadBalancers",
	"Microsoft.Compute/virtualMachineScaleSets", "Microsoft.Batch/batchAccounts", "Microsoft.Batch/batchAccounts/pools",
	"Microsoft.Network/virtualNetworks/virtualNetworkPeerings", "Microsoft.Network/networkSecurityGroups/securityRules",
	"Microsoft.Network/applicationSecurityGroups", "Microsoft.Compute/availabilitySets",
	"Microsoft.Sql/servers", "Microsoft.ContainerInstance/containerGroups", "Microsoft.DataBox/jobs",
	"Microsoft.Authorization/locks", "Microsoft.Authorization/roleAssignments",
}

func TestMain(m *testing.M) {
	operator.Packs("azure")
	folder, err := operator.Definitions(all(), kindsOf(enabled...))
	if err != nil {
		panic(err)
	}
	crds := testenv.CRDs("../../config/crd/kinship.dev_referencegrants.yaml")
	testenv.Main(m, testenv.TemporaryCRDs(folder), crds, testenv.WithoutPods(), testenv.KeepNamespaces())
}

func all() *catalogue.Catalogue {
	all, err := catalogue.Embedded()
	if err != nil {
		panic(err)
	}
	return all
}

func kindsOf(types ...string) []*catalogue.Kind {
	kinds := make([]*catalogue.Kind, 0, len(types))
	for _, t := range types {
		kinds = append(kinds, all().Default(t))
	}
	return kinds
}
