package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/app"
	azurecloud "github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/freeport"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/story"
)

// operatorLog is the file name of the operator's log, in the folder with the logs of
// kube-apiserver and etcd.
const operatorLog = "operator.log"

// prepare installs the CRDs of the operator and the stories before kube-controller-manager
// starts. The garbage collector learns of a later CRD after 30 s.
func (u *up) prepare(ctx context.Context, config *rest.Config) error {
	port, err := freeport.Find("127.0.0.1")
	if err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	u.options = app.Options{
		Config: config, Log: logr.Discard(), WebhookHost: "127.0.0.1", WebhookPort: port,
		MetricsAddress: "0", HealthAddress: "0",
	}
	u.options.Azure.Endpoint, u.options.Azure.Credential = u.azure.URL(), azurecloud.NoCredential
	u.options.Azure.Subscription = storySubscription
	if err := app.Install(ctx, u.options); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	stage, err := story.NewStage(config)
	if err != nil {
		return err
	}
	if err := enableStory(ctx, config); err != nil {
		return err
	}
	return errors.Join(story.DefineUsage(ctx, stage), story.DefineNamespace(ctx, stage),
		story.DefineOpenstack(ctx, stage, u.cloud.CloudsYAML()), story.DefineOam(ctx, stage), story.DefineAzure(ctx, stage))
}

// storySubscription is the subscription of the story about Azure.
const storySubscription = "11111111-2222-3333-4444-555555555555"

// enableStory enables the kinds of the story about Azure.
func enableStory(ctx context.Context, config *rest.Config) error {
	all, err := catalogue.Embedded()
	if err != nil {
		return err
	}
	cluster, err := newAzureClient(config)
	if err != nil {
		return err
	}
	var kinds []*catalogue.Kind
	for _, pattern := range []string{
		"Microsoft.Resources/resourceGroups", "Microsoft.Network/virtualNetworks*", "Microsoft.Network/routeTables*",
		"Microsoft.Network/networkSecurityGroups", "Microsoft.Network/publicIPAddresses",
		"Microsoft.Network/networkInterfaces", "Microsoft.Network/loadBalancers",
		"Microsoft.Compute/virtualMachineScaleSets", "Microsoft.Batch/batchAccounts*",
	} {
		found, err := all.Match(pattern)
		if err != nil {
			return err
		}
		kinds = append(kinds, found...)
	}
	return azure.Enable(ctx, cluster, all, kinds, azureGrant(nil))
}

// tell runs the stories of the packs. Without the flag --once, tell keeps the example
// objects, so that the user can run "kinship tree" on them.
func (u *up) tell(ctx context.Context, cluster *localcluster.Cluster) error {
	stories, err := story.Usage()
	if err != nil {
		return err
	}
	connectors, err := story.Iot()
	if err != nil {
		return err
	}
	clouds, err := story.Openstack(u.cloud.CloudsYAML())
	if err != nil {
		return err
	}
	applications, err := story.Oam()
	if err != nil {
		return err
	}
	resources, err := story.Azure()
	if err != nil {
		return err
	}
	stories = slices.Concat(stories, connectors, clouds, applications, resources)
	stage, err := story.NewStage(cluster.Config())
	if err != nil {
		return err
	}
	err = story.Tell(ctx, u.Out, stage, stories)
	if err != nil && ctx.Err() == nil {
		u.quoteLog(cluster)
	}
	if u.once || ctx.Err() != nil {
		return err
	}
	return errors.Join(err, story.LeaveUsage(ctx, stage), story.LeaveIot(ctx, stage),
		story.LeaveOpenstack(ctx, stage, u.cloud.CloudsYAML()), story.LeaveOam(ctx, stage), story.LeaveAzure(ctx, stage))
}

// quoteLog prints the end of operatorLog, because "kinship up" removes the file at its end.
func (u *up) quoteLog(cluster *localcluster.Cluster) {
	const most = 4 << 10
	text, err := os.ReadFile(filepath.Join(cluster.DataDir(), "logs", operatorLog))
	if err != nil {
		return // The caller reports the error itself.
	}
	fmt.Fprintf(u.ErrOut, "\nThe end of the operator's log:\n%s\n", text[max(0, len(text)-most):])
}
