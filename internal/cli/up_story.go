package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	azurecloud "github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/freeport"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/options"
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
	u.options = options.Options{
		Version: u.version, Config: config, Log: logr.Discard(), WebhookHost: "127.0.0.1", WebhookPort: port,
		MetricsAddress: "0", HealthAddress: "0",
	}
	u.options.Azure.Endpoint, u.options.Azure.Credential = u.azure.URL(), azurecloud.NoCredential
	u.options.Azure.Subscription = story.AzureSubscription
	if err := install.Install(ctx, u.options); err != nil {
		return fmt.Errorf("install: %w", err)
	}
	stage, err := story.NewStage(config)
	if err != nil {
		return err
	}
	if err := story.EnableAzure(ctx, config); err != nil {
		return err
	}
	return story.Define(ctx, stage, u.cloud.CloudsYAML())
}

// tell runs the stories of the packs. Without the flag --once, tell keeps the example
// objects, so that the user can run "kinship tree" on them.
func (u *up) tell(ctx context.Context, cluster *localcluster.Cluster) error {
	stories, err := story.All(u.cloud.CloudsYAML())
	if err != nil {
		return err
	}
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
	return errors.Join(err, story.Leave(ctx, stage, u.cloud.CloudsYAML()))
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
