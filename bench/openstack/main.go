package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// options are the values of the flags.
type options struct {
	shape

	scenarios    []string
	latencies    []time.Duration
	objects      int
	wakes        int
	idle         time.Duration
	timeout      time.Duration
	clouds       string
	cloud        string
	kubeconfig   string
	operatorPID  int
	operatorBin  string
	operatorArgs []string
	dataDir      string
}

func main() {
	if err := newCommand(os.Stdout).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func newCommand(out io.Writer) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "openstack",
		Short:         "Measure an implementation of openstack.k-orc.cloud",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, o, out)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *options) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.scenarios, "scenarios", []string{"tree"}, "what to measure, of: tree, wake, memory, beside")
	f.IntVar(&o.networks, "networks", 20, "how many Networks, each with a Subnet")
	f.IntVar(&o.ports, "ports", 2, "how many Ports each Subnet has")
	f.IntVar(&o.perRouter, "per-router", 10, "how many Subnets share a Router; 0 is without Routers")
	f.DurationSliceVar(&o.latencies, "latency", []time.Duration{0, 200 * time.Millisecond},
		"what each call of the emulator takes at least; one run for each")
	f.IntVar(&o.objects, "objects", 5000, "how many objects there are at least in the scenario memory")
	f.IntVar(&o.wakes, "wakes", 100,
		"how many Subnets wait for a Network in the scenario wake, and Networks are made in beside")
	f.DurationVar(&o.idle, "idle", 30*time.Second, "how long to do nothing in the scenario memory")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long to wait for all objects")
	f.StringVar(&o.clouds, "clouds", "", "a clouds.yaml (default an emulator that is started)")
	f.StringVar(&o.cloud, "cloud", "openstack", "the entry in it")
	f.StringVar(&o.kubeconfig, "kubeconfig", "",
		"a cluster with an implementation (default a control plane and kinship that are started)")
	f.IntVar(&o.operatorPID, "operator-pid", 0, "with --kubeconfig, the process of the implementation, for its memory")
	f.StringVar(&o.operatorBin, "operator-bin", "bin/kinship", "the kinship to start")
	f.StringSliceVar(&o.operatorArgs, "operator-args", nil, "more arguments for it")
	f.StringVar(&o.dataDir, "data-dir", "", "keep the files and logs of the control plane here")
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := start(ctx, o, cancel)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop(ctx)) }()
	if slices.Contains(o.scenarios, "tree") {
		for _, latency := range r.latencies() {
			f, err := r.tree(ctx, latency)
			if err != nil {
				return because(ctx, err)
			}
			f.print(out)
		}
	}
	if slices.Contains(o.scenarios, "wake") && o.wakes > 0 {
		w, err := r.wake(ctx)
		if err != nil {
			return because(ctx, err)
		}
		w.print(out)
	}
	if slices.Contains(o.scenarios, "beside") && o.wakes > 0 {
		f, err := r.beside(ctx)
		if err != nil {
			return because(ctx, err)
		}
		f.print(out)
	}
	if slices.Contains(o.scenarios, "memory") {
		m, err := r.memory(ctx)
		if err != nil {
			return because(ctx, err)
		}
		m.print(out)
	}
	return nil
}

// because adds context.Cause to an error, such as the end of the operator.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", err, cause)
	}
	return err
}
