package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// flags are the values of the command line.
type flags struct {
	program               string
	parts                 []string
	resources, dependents int
	routes                int
	objects, samples      int
	latency, idle, settle time.Duration
	eager                 bool
	// maxMakespan, maxCalls and maxMemory are limits of the makespan as a multiple of the critical path,
	// of the calls per resource besides polls, and of the operator's memory in MB. With maxCalls, a
	// refused call is an error too. A negative value means no limit.
	maxMakespan, maxCalls, maxMemory float64
}

// parts are the parts of the measurement, in order.
var parts = []struct {
	name    string
	measure func(context.Context, flags) error
}{
	{"tree", measureTree},
	{"group", measureGroup},
	{"memory", measureMemory},
	{"enable", measureEnable},
	{"sizes", measureSizes},
}

func main() {
	log.SetLogger(logr.Discard())
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var o flags
	names := make([]string, 0, len(parts))
	for _, part := range parts {
		names = append(names, part.name)
	}
	cmd := &cobra.Command{
		Use: "azure", Short: "Measure the azure pack with the emulated Azure", Args: cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, o, names)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.program, "operator", "bin/kinship", "operator to start")
	f.StringSliceVar(&o.parts, "parts", names, "what to measure")
	f.IntVar(&o.resources, "resources", 300, "how many resources the tree has")
	f.IntVar(&o.routes, "routes", 1, "how many routes each route table of the tree has")
	f.IntVar(&o.dependents, "dependents", 200, "how many dependents the deleted group has")
	f.IntVar(&o.objects, "objects", 1000, "how many objects there are when memory is measured")
	f.IntVar(&o.samples, "samples", 5, "how many kinds are enabled while the operator runs")
	f.DurationVar(&o.latency, "latency", 100*time.Millisecond, "latency of the cloud")
	f.DurationVar(&o.idle, "idle", time.Minute, "how long to count requests while nothing happens")
	f.DurationVar(&o.settle, "settle", 20*time.Second, "how long the API server may settle before its memory is read")
	f.BoolVar(&o.eager, "eager", false, "the cloud does not tell when to poll again")
	f.Float64Var(&o.maxMakespan, "max-makespan", off, "fail above this multiple of the critical path")
	f.Float64Var(&o.maxCalls, "max-calls", off, "fail above this many calls per resource, and after a refused call")
	f.Float64Var(&o.maxMemory, "max-memory", off, "fail above this many MB")
	return cmd
}

// off is the value of a limit that is not set.
const off = -1

// limit returns an error if a figure is above a limit.
func limit(what string, got, most float64) error {
	if most < 0 || got <= most {
		return nil
	}
	return fmt.Errorf("%s: %.2f, allowed are %.2f", what, got, most)
}

func run(ctx context.Context, o flags, names []string) error {
	for _, name := range o.parts {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no part %q: --parts takes %s", name, strings.Join(names, ", "))
		}
	}
	var failed []error
	for _, part := range parts {
		if ctx.Err() == nil && slices.Contains(o.parts, part.name) {
			if err := part.measure(ctx, o); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", part.name, err))
			}
		}
	}
	return errors.Join(failed...)
}

// report prints a figure to os.Stdout.
func report(what, format string, args ...any) {
	fmt.Fprintf(os.Stdout, "%-68s  %s\n", what, fmt.Sprintf(format, args...))
}
