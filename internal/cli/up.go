package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/internal/localcluster"
)

// up is the command that shows what Kinship does on a machine of one's own.
type up struct {
	genericiooptions.IOStreams

	dataDir string
	once    bool
	verbose bool
}

func newUp(streams genericiooptions.IOStreams) *cobra.Command {
	u := up{IOStreams: streams}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a local control plane with the operator, and show what it does",
		Long: `Start a Kubernetes control plane on this machine, run the operator on it, apply
the examples, and tell their stories. It stays up until Ctrl-C.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return u.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&u.dataDir, "data-dir", "", "directory for all files, kubeconfig among them (default a temporary one)")
	cmd.Flags().BoolVar(&u.once, "once", false, "check every step of the stories, clean up, and exit with 0 or 1")
	cmd.Flags().BoolVar(&u.verbose, "verbose", false, "log more")
	return cmd
}

func (u *up) run(ctx context.Context) (err error) {
	fmt.Fprintln(u.ErrOut, "Starting a control plane ...")
	cluster, err := localcluster.Start(ctx, localcluster.Options{DataDir: u.dataDir})
	if err != nil {
		return fmt.Errorf("start control plane: %w", err)
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped, err := u.startOperator(ctx, cluster, cancel)
	if err != nil {
		return err
	}
	defer func() { <-stopped }()
	defer cancel(nil)

	if err := u.tell(ctx, cluster); err != nil || u.once {
		return err
	}
	fmt.Fprintf(u.Out, "\nTo look around:\n\n  export KUBECONFIG=%s PATH=%s:$PATH\n  kubectl get usages.apiextensions.crossplane.io\n\nready\n",
		cluster.Kubeconfig(), cluster.BinDir())
	select {
	case <-ctx.Done():
	case <-cluster.Done():
		return cluster.Err()
	}
	return nil
}

// startOperator runs the operator in this process and waits until it is ready.
// The channel is closed when it has ended.
func (u *up) startOperator(
	ctx context.Context, cluster *localcluster.Cluster, cancel context.CancelCauseFunc,
) (<-chan struct{}, error) {
	logFile, err := os.Create(filepath.Join(cluster.DataDir(), "logs", "operator.log"))
	if err != nil {
		return nil, fmt.Errorf("make log file: %w", err)
	}
	ready, stopped := make(chan struct{}), make(chan struct{})
	var failure error
	go func() {
		defer close(stopped)
		failure = app.Run(ctx, app.Options{
			Config: cluster.Config(), Install: true, WebhookHost: "127.0.0.1",
			MetricsAddress: "0", HealthAddress: "0", Log: newLog(logFile, u.verbose),
			Ready: func() { close(ready) },
		})
		failure = errors.Join(failure, logFile.Close())
		cancel(failure)
	}()
	select {
	case <-ready:
		return stopped, nil
	case <-stopped:
		return nil, fmt.Errorf("run operator: %w", failure)
	}
}

// tell tells the stories of the packs.
func (u *up) tell(context.Context, *localcluster.Cluster) error { return nil }
