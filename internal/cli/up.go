package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/cli/command"
	azure "github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/operator"
	"github.com/kinship-dev/kinship/internal/options"
)

// up is the command "kinship up", which runs a control plane, the operator and the stories locally.
type up struct {
	genericiooptions.IOStreams

	dataDir string
	once    bool
	bare    bool
	verbose bool
	options options.Options // of the operator
	version string
	cloud   *emulator.Server
	azure   *azure.Server
}

func newUp(version string, streams genericiooptions.IOStreams) *cobra.Command {
	u := up{IOStreams: streams, version: version}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a local control plane with the operator, and show what it does",
		Long: `Start a Kubernetes control plane on this machine, run the operator on it, apply
the examples, and tell their stories. It stays up until Ctrl-C.

With --bare, only the control plane runs, without anything of Kinship: to try the installation.`,
		Args: cobra.NoArgs,
		RunE: u.start,
	}
	cmd.Flags().StringVar(&u.dataDir, "data-dir", "",
		"directory for all files, kubeconfig among them (default a temporary one)")
	cmd.Flags().BoolVar(&u.once, "once", false, "check every step of the stories, clean up, and exit with 0 or 1")
	cmd.Flags().BoolVar(&u.bare, "bare", false, "run the control plane alone, and say how to install Kinship there")
	cmd.Flags().BoolVar(&u.verbose, "verbose", false, "log more")
	return cmd
}

// start implements cobra.Command.RunE.
func (u *up) start(cmd *cobra.Command, _ []string) error {
	switch {
	case u.bare && u.once:
		return command.Misused(errors.New("--bare runs no stories that --once could check: leave out one of the two"))
	case u.bare:
		return u.runBare(cmd.Context())
	default:
		return u.run(cmd.Context())
	}
}

// run starts and stops the localcluster.Cluster. After the user's interrupt (the end of
// ctx), run drops all errors, because the interrupt causes the errors.
func (u *up) run(ctx context.Context) error {
	fmt.Fprintln(u.ErrOut, "Starting a control plane and a cloud ...")
	var err error
	if u.cloud, err = emulator.Start(emulator.Options{}); err != nil {
		return err
	}
	defer func() { _ = u.cloud.Close() }() // The data of the emulator is not needed any more.
	// Azure tells clients to ask again after 15 s.
	if u.azure, err = azure.Start(azure.Options{RetryAfter: -1}); err != nil {
		return err
	}
	defer func() { _ = u.azure.Close() }()
	used := u.isUsed()
	cluster, err := localcluster.Start(ctx, localcluster.Options{DataDir: u.dataDir, BeforeControllers: u.prepare})
	if err == nil {
		err = errors.Join(u.show(ctx, cluster, used), cluster.Stop())
	}
	if err != nil && used {
		err = u.leftOver(err)
	}
	switch {
	case ctx.Err() == nil:
		return err
	case u.once:
		return errors.New("interrupted before everything was checked")
	default:
		return nil
	}
}

// isUsed reports whether the data directory has files of an earlier "kinship up".
func (u *up) isUsed() bool {
	left, err := filepath.Glob(filepath.Join(u.dataDir, "etcd", "*"))
	return u.dataDir != "" && err == nil && len(left) > 0
}

// leftOver adds a possible cause to an error. Objects of a run that was killed refer to a
// cloud emulator that ended with that run, so the operator can't delete these objects.
func (u *up) leftOver(err error) error {
	return fmt.Errorf("%w\n%s has what a run before it left: delete the directory, or name another one", err, u.dataDir)
}

// show runs the operator on a localcluster.Cluster during tellAndStay, and waits for the operator's end.
func (u *up) show(ctx context.Context, cluster *localcluster.Cluster, used bool) error {
	if err := os.WriteFile(u.clouds(cluster), []byte(u.cloud.CloudsYAML()), 0o600); err != nil {
		return fmt.Errorf("write clouds.yaml: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { // Also while the operator starts: without an API server, the operator is never ready.
		select {
		case <-cluster.Done():
			cancel(cluster.Err())
		case <-ctx.Done():
		}
	}()
	stopped, err := u.startOperator(ctx, cluster, cancel)
	if err == nil {
		err = u.tellAndStay(ctx, cluster, used)
	}
	cancel(nil)
	select {
	case <-stopped:
		return err
	case <-time.After(stopTimeout):
		return errors.Join(err, fmt.Errorf("the operator has not ended after %s", stopTimeout))
	}
}

// tellAndStay calls tell(). Without the flag --once, tellAndStay then waits until the user's interrupt, or until the
// operator or the control plane ends.
func (u *up) tellAndStay(ctx context.Context, cluster *localcluster.Cluster, used bool) error {
	err := u.tell(ctx, cluster)
	if u.once || ctx.Err() != nil {
		return err
	}
	if err != nil && used {
		err = u.leftOver(err)
	}
	if err != nil {
		fmt.Fprintln(u.ErrOut, "Error:", err)
	}
	u.invite(cluster)
	<-ctx.Done()
	return context.Cause(ctx)
}

// clouds returns the path of the clouds.yaml of the OpenStack emulator.
func (u *up) clouds(cluster *localcluster.Cluster) string {
	return filepath.Join(cluster.DataDir(), "clouds.yaml")
}

// path returns the directories of kinship, kubectl-kinship and kubectl, for PATH.
func path(cluster *localcluster.Cluster) string {
	dirs := cluster.BinDir()
	if self, err := os.Executable(); err == nil { // kubectl-kinship is in the same folder.
		dirs = filepath.Dir(self) + string(filepath.ListSeparator) + dirs
	}
	return dirs
}

// invite prints commands for the user to try, such as "kinship tree".
func (u *up) invite(cluster *localcluster.Cluster) {
	fmt.Fprintf(u.Out, `
To look around in another terminal:

  export KUBECONFIG=%s PATH=%s:$PATH
  kubectl get usages.apiextensions.crossplane.io
  kubectl delete cluster.eks.upbound.io my-cluster
  kubectl get -n kinship-stories iotconnectors,deployments,pods
  kubectl kinship who-uses cluster.eks.upbound.io/my-cluster
  kubectl get -n kinship-stories openstack
  kubectl delete -n kinship-stories --wait=false network.openstack.k-orc.cloud/internal
  kubectl get -n kinship-stories azure
  kubectl kinship tree -n kinship-stories resourcegroup/shop
  kubectl kinship tree -n kinship-stories applicationconfiguration/shop
  kubectl kinship why -n kinship-stories network.openstack.k-orc.cloud/internal

The cloud's clouds.yaml, for the openstack client: %s
The emulated Azure: %s

Ctrl-C ends it.
ready
`, cluster.Kubeconfig(), path(cluster), u.clouds(cluster), u.azure.URL())
}

// readyTimeout is much longer than the operator needs on a busy machine. After readyTimeout, the operator's
// log has the reason. stopTimeout is longer than a manager.Manager waits for its controllers, 30 seconds.
const (
	readyTimeout = 2 * time.Minute
	stopTimeout  = 45 * time.Second
)

// startOperator runs operator.Run() in this process and waits for Options.Ready. The returned
// channel is closed when the operator has ended.
func (u *up) startOperator(
	ctx context.Context, cluster *localcluster.Cluster, cancel context.CancelCauseFunc,
) (<-chan struct{}, error) {
	ready, stopped := make(chan struct{}), make(chan struct{})
	logFile, err := os.Create(filepath.Join(cluster.DataDir(), "logs", operatorLog))
	if err != nil {
		close(stopped)
		return stopped, fmt.Errorf("make log file: %w", err)
	}
	options := u.options
	options.Config = cluster.Config()
	options.Openstack.Open = openstack.Loopback // The OpenStack emulator listens on 127.0.0.1.
	if options.Log, err = newLog(logFile, textLog, logLevel(u.verbose, false)); err != nil {
		close(stopped)
		return stopped, err
	}
	options.Ready = func() { close(ready) }
	go func() {
		defer close(stopped)
		err := operator.Run(ctx, options)
		if err != nil {
			err = fmt.Errorf("run operator: %w", err)
		}
		cancel(errors.Join(err, logFile.Close()))
	}()
	select {
	case <-ready:
		return stopped, nil
	case <-stopped:
		return stopped, context.Cause(ctx)
	case <-time.After(readyTimeout):
		u.quoteLog(cluster)
		return stopped, fmt.Errorf("the operator is not ready after %s", readyTimeout)
	}
}
