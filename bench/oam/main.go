package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/options"
)

// flags are the values of the command line.
type flags struct {
	kubeconfig, program string
	operatorPID         int
	applications        int
	idle                time.Duration
}

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var o flags
	cmd := &cobra.Command{
		Use: "oam", Short: "Measure applications of core.oam.dev", Args: cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, o)
		},
	}
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "cluster of the implementation (default a new control plane)")
	cmd.Flags().IntVar(&o.operatorPID, "operator-pid", 0, "process of the implementation, for its memory")
	cmd.Flags().StringVar(&o.program, "operator", "bin/kinship", "operator to start without --kubeconfig")
	cmd.Flags().IntVar(&o.applications, "applications", 200, "how many applications")
	cmd.Flags().DurationVar(&o.idle, "idle", time.Minute, "how long to count requests while nothing happens")
	return cmd
}

func run(ctx context.Context, o flags) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o.kubeconfig == "" {
		stop, err := startLocal(ctx, &o, cancel)
		defer func() { err = errors.Join(err, stop()) }()
		if err != nil {
			return err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	m := &meter{flags: o, out: os.Stdout}
	scheme, err := options.NewScheme(options.Options{Packs: []string{"oam"}})
	if err != nil {
		return err
	}
	if m.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if m.clients, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	return m.measure(ctx)
}

// startLocal starts a control plane and the operator, and sets flags.kubeconfig and
// flags.operatorPID.
func startLocal(ctx context.Context, o *flags, cancel context.CancelCauseFunc) (stop func() error, err error) {
	fmt.Fprintln(os.Stderr, "Starting a control plane and the operator ...")
	cluster, err := localcluster.Start(ctx, localcluster.Options{WithoutPods: true})
	if err != nil {
		return func() error { return nil }, err
	}
	operator, err := gauge.StartOperator(ctx, o.program, cluster.Kubeconfig(),
		filepath.Join(cluster.DataDir(), "operator.log"), cancel, "--packs", "oam")
	stop = func() error {
		if operator != nil {
			operator.Stop()
		}
		return cluster.Stop()
	}
	if err != nil {
		return stop, err
	}
	o.kubeconfig, o.operatorPID = cluster.Kubeconfig(), operator.PID
	return stop, nil
}
