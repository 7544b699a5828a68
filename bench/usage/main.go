package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	cmd := newCommand(os.Stdout, os.Stderr)
	if err := cmd.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func newCommand(out, errOut io.Writer) *cobra.Command {
	o := defaults()
	cmd := &cobra.Command{
		Use:           "usage",
		Short:         "Measure an implementation of the Usage API",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, o, out, errOut)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// errProblems says that the printed figures must not be trusted.
var errProblems = errors.New("the implementation did not behave as the figures assume; see the problems above")

// run measures and prints the figures, even after an error. run returns errProblems if the
// implementation misbehaved.
func run(ctx context.Context, o *options, out, errOut io.Writer) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var restart func(context.Context) (time.Time, int, error)
	if o.local {
		local, err := startLocal(ctx, o, errOut, cancel)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, local.stop()) }()
		restart = func(ctx context.Context) (time.Time, int, error) { return local.restart(ctx, o, cancel) }
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	r, err := newRig(ctx, o, config, errOut)
	if err != nil {
		return err
	}
	r.restart = restart
	err = r.measure(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w (%w)", err, cause)
	}
	err = errors.Join(err, r.report.write(out, o.output))
	if err == nil && len(r.report.Problems) > 0 {
		err = errProblems
	}
	return err
}
