package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// flags are the values of the command line.
type flags struct {
	connectors, each, runs int
	idle                   time.Duration
	// maxRatio, maxDeployment, maxConnector and maxIdle are limits; a negative value means no
	// limit.
	maxRatio, maxDeployment, maxConnector, maxIdle float64
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
		Use:           "composite",
		Short:         "Compare IotConnectors with plain server-side apply of the same Deployments",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, o)
		},
	}
	cmd.Flags().IntVar(&o.connectors, "connectors", 500, "how many IotConnectors")
	cmd.Flags().IntVar(&o.each, "each", 4, "how many Deployments each of them has")
	cmd.Flags().IntVar(&o.runs, "runs", 1, "how often to measure both ways")
	cmd.Flags().DurationVar(&o.idle, "idle", 20*time.Second, "how long to count requests while nothing happens")
	const off = -1
	cmd.Flags().Float64Var(&o.maxRatio, "max-ratio", off, "fail above this ratio")
	cmd.Flags().Float64Var(&o.maxDeployment, "max-deployment", off,
		"fail above so many writes and reads for each Deployment")
	cmd.Flags().Float64Var(&o.maxConnector, "max-connector", off, "fail above so many writes for each IotConnector")
	cmd.Flags().Float64Var(&o.maxIdle, "max-idle", off, "fail above so many requests while nothing happens")
	return cmd
}

func run(ctx context.Context, o flags) (err error) {
	r, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	// etcd grows with each measurement, so rig.plain runs before and after each rig.composed.
	before, err := r.plain(ctx)
	if err != nil {
		return err
	}
	var exceeded error
	for range o.runs {
		composed, err := r.composed(ctx)
		if err != nil {
			return err
		}
		after, err := r.plain(ctx)
		if err != nil {
			return err
		}
		composed.print(os.Stdout, o, before, after)
		exceeded = errors.Join(exceeded, composed.exceeded(o, before, after))
		before = after
	}
	return exceeded
}
