package story

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/pack/azure"
)

// AzureSubscription is the subscription of the story about Azure.
const AzureSubscription = "11111111-2222-3333-4444-555555555555"

// azureTypes are the patterns of the kinds of the story about Azure.
var azureTypes = []string{
	"Microsoft.Resources/resourceGroups", "Microsoft.Network/virtualNetworks*", "Microsoft.Network/routeTables*",
	"Microsoft.Network/networkSecurityGroups", "Microsoft.Network/publicIPAddresses",
	"Microsoft.Network/networkInterfaces", "Microsoft.Network/loadBalancers",
	"Microsoft.Compute/virtualMachineScaleSets", "Microsoft.Batch/batchAccounts*",
}

// EnableAzure enables the kinds of the story about Azure for the operator.
func EnableAzure(ctx context.Context, config *rest.Config) error {
	all, err := catalogue.Embedded()
	if err != nil {
		return err
	}
	cluster, err := install.NewAzureClient(config)
	if err != nil {
		return err
	}
	var kinds []*catalogue.Kind
	for _, pattern := range azureTypes {
		found, err := all.Match(pattern)
		if err != nil {
			return err
		}
		kinds = append(kinds, found...)
	}
	return azure.Enable(ctx, cluster, all, kinds, install.AzureGrant())
}

// Define creates the kinds and the namespace that the stories of all packs need. clouds is the
// clouds.yaml of the OpenStack that the stories use.
func Define(ctx context.Context, stage *Stage, clouds string) error {
	return errors.Join(DefineUsage(ctx, stage), DefineNamespace(ctx, stage), DefineOpenstack(ctx, stage, clouds),
		DefineOam(ctx, stage), DefineAzure(ctx, stage))
}

// All returns the stories of all packs.
func All(clouds string) ([]Story, error) {
	var all []Story
	for _, read := range []func() ([]Story, error){
		Install, Usage, Iot, func() ([]Story, error) { return Openstack(clouds) }, Oam, Azure,
	} {
		stories, err := read()
		if err != nil {
			return nil, err
		}
		all = append(all, stories...)
	}
	return all, nil
}

// Leave applies the examples of all packs once more, for people to look around.
func Leave(ctx context.Context, stage *Stage, clouds string) error {
	return errors.Join(LeaveUsage(ctx, stage), LeaveIot(ctx, stage), LeaveOpenstack(ctx, stage, clouds),
		LeaveOam(ctx, stage), LeaveAzure(ctx, stage))
}
