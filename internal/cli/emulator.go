package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	azure "github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	openstack "github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

func newEmulator(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "emulator",
		Short: "Run a cloud in memory",
	}
	cmd.AddCommand(newEmulatorOpenStack(streams), newEmulatorAzure(streams))
	return cmd
}

func newEmulatorOpenStack(streams genericiooptions.IOStreams) *cobra.Command {
	var options openstack.Options
	cmd := &cobra.Command{
		Use:   "openstack",
		Short: "Run an OpenStack in memory until Ctrl-C",
		Long: `Run an OpenStack in memory until Ctrl-C: Keystone, Neutron, Nova, Glance, Cinder
and Manila, as far as the openstack pack uses them. Nothing is stored.

The clouds.yaml goes to standard output; it has the clouds openstack (a member)
and openstack-admin. Below /_emulator/ are inventory, calls, faults, latency and
tokens.`,
		Example: "  kinship emulator openstack --listen 127.0.0.1:15000 >clouds.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return runOpenStack(ctx, streams, options)
		},
	}
	f := cmd.Flags()
	f.StringVar(&options.Listen, "listen", "127.0.0.1:0", "address to listen on; port 0 is any free one")
	f.DurationVar(&options.Latency, "latency", 0, "what every call takes at least")
	f.DurationVar(&options.TokenLife, "token-life", 0, "how long a token lasts (default 24h)")
	f.DurationVar(&options.BuildTime, "build-time", 0,
		"how long servers, volumes and images take to become usable (default 50ms)")
	return cmd
}

func runOpenStack(ctx context.Context, streams genericiooptions.IOStreams, options openstack.Options) error {
	cloud, err := openstack.Start(options)
	if err != nil {
		return err
	}
	fmt.Fprint(streams.Out, cloud.CloudsYAML())
	fmt.Fprintf(streams.ErrOut, "OpenStack listens on %s; Ctrl-C ends it\n", cloud.URL())
	<-ctx.Done()
	return cloud.Close()
}

func newEmulatorAzure(streams genericiooptions.IOStreams) *cobra.Command {
	var options azure.Options
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Run an Azure Resource Manager in memory until Ctrl-C",
		Long: `Run an Azure Resource Manager in memory until Ctrl-C. It has resources of every
type, and stores nothing. It takes requests without credentials:

  kinship operator --azure-endpoint URL --azure-credential none

Below /_emulator/ are inventory, calls, refusals, faults and latency.`,
		Example: "  kinship emulator azure --listen 127.0.0.1:15001",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return runAzure(ctx, streams, options)
		},
	}
	f := cmd.Flags()
	f.StringVar(&options.Listen, "listen", "127.0.0.1:0", "address to listen on; port 0 is any free one")
	f.DurationVar(&options.Latency, "latency", 0, "what every call takes at least")
	f.DurationVar(&options.BuildTime, "build-time", 0, "how long operations take (default 50ms to 200ms)")
	f.IntVar(&options.RetryAfter, "retry-after", 0,
		"seconds after which callers are told to ask for an operation again; below 0 they are told nothing "+
			"(default as Azure does)")
	return cmd
}

func runAzure(ctx context.Context, streams genericiooptions.IOStreams, options azure.Options) error {
	cloud, err := azure.Start(options)
	if err != nil {
		return err
	}
	fmt.Fprintln(streams.Out, cloud.URL())
	fmt.Fprintf(streams.ErrOut, "Azure listens on %s; Ctrl-C ends it\n", cloud.URL())
	<-ctx.Done()
	return cloud.Close()
}
