package clouds

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/pkg/iot"
	"github.com/kinship-dev/kinship/pkg/render"
)

// connectorCommand holds flags and client of a `kinship iot` command about one IotConnector. The
// commands read and write the IotConnector with an iot.Provider, and need no running operator.
type connectorCommand struct {
	genericiooptions.IOStreams

	flags    *command.KubeFlags
	provider iot.Provider
	spec     iot.Spec
	image    string
	env      []string
	create   bool
	all      bool
	key      client.ObjectKey
}

// NewIot returns the command "kinship iot".
func NewIot(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "iot",
		Short: "Provision IotConnectors and their destinations",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newProvision(streams), newDeprovision(streams), newUpgrade(streams),
		newRollback(streams), newConnectorStatus(streams))
	return cmd
}

func newConnectorCommand(streams genericiooptions.IOStreams) *connectorCommand {
	return &connectorCommand{IOStreams: streams, flags: command.NewKubeFlags()}
}

// command completes a cobra.Command with the argument CONNECTOR and the flags of kubectl.
func (c *connectorCommand) command(cmd *cobra.Command, run func(context.Context) error) *cobra.Command {
	cmd.Use += " CONNECTOR"
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.complete(args[0]); err != nil {
			return err
		}
		return run(cmd.Context())
	}
	c.flags.AddTo(cmd.Flags())
	return cmd
}

// changing adds --deadline and --service-names to a command that writes the IotConnector.
func (c *connectorCommand) changing(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&c.provider.Deadline, "deadline", iot.DefaultDeadline,
		"how long to try while others change the same IotConnector")
	cmd.Flags().StringToStringVar(&c.provider.Names, "service-names", nil,
		"internal service names by type, for an upgrade, such as FhirConverter=fhir-1")
}

// complete creates the client from the flags of kubectl.
func (c *connectorCommand) complete(connector string) error {
	config, err := c.flags.Config()
	if err != nil {
		return err
	}
	namespace, err := c.flags.Namespace()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := iotv1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("make scheme: %w", err)
	}
	c.key = client.ObjectKey{Namespace: namespace, Name: connector}
	c.provider.Client, err = client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	kind := iotv1alpha1.GroupVersion.WithKind(iotv1alpha1.KindIotConnector)
	if _, err := c.provider.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return fmt.Errorf("find the kind IotConnector, which kinship operator --install --packs iot installs: %w", err)
	}
	return nil
}

func newProvision(streams genericiooptions.IOStreams) *cobra.Command {
	c := newConnectorCommand(streams)
	cmd := c.command(&cobra.Command{
		Use:   "provision",
		Short: "Add a deployment to an IotConnector, or change it",
		Long: `Add a deployment to an IotConnector, or change that deployment. Other deployments
are left alone. A missing IotConnector is created with --create, and with --type
Normalization. An IotConnector of version 0 is upgraded first.`,
		Example: "  kinship iot provision hospital --type FhirConverter --name fhir-1 --image example.com/fhir:1",
	}, c.provision)
	f := cmd.Flags()
	f.StringVar(&c.provider.Type, "type", "", "type of the deployment, such as Normalization or FhirConverter")
	f.StringVar(&c.spec.Name, "name", "", "name of the deployment")
	f.StringVar(&c.image, "image", "", "image to run")
	f.BoolVar(&c.create, "create", false, "create the IotConnector if it does not exist")
	f.StringArrayVar(&c.env, "env", nil, "variable of the container, as NAME=VALUE; may be given several times")
	c.changing(cmd)
	return required(cmd, "type", "name", "image")
}

// required marks flags as required, with cobra.Command.MarkFlagRequired.
func required(cmd *cobra.Command, flags ...string) *cobra.Command {
	for _, flag := range flags {
		cobra.CheckErr(cmd.MarkFlagRequired(flag))
	}
	return cmd
}

func (c *connectorCommand) provision(ctx context.Context) error {
	container := iotv1alpha1.Container{Type: c.provider.Type, Image: c.image}
	for _, pair := range c.env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return command.Misused(fmt.Errorf("--env %s: want NAME=VALUE", pair))
		}
		container.EnvironmentVariables = append(container.EnvironmentVariables,
			iotv1alpha1.EnvironmentVariable{Name: name, Value: value})
	}
	c.spec.Containers = []iotv1alpha1.Container{container}
	connector := &iotv1alpha1.IotConnector{}
	connector.Namespace, connector.Name = c.key.Namespace, c.key.Name
	connector.Labels = map[string]string{iotv1alpha1.TierLabel: iotv1alpha1.TierAlwaysUpdate}
	err := c.provider.Provision(ctx, c.key, c.spec)
	// "An IotConnector Provision command is always performed before provisioning of
	// Destination Resources": TypeNormalization creates the IotConnector. With another --type, an
	// unknown name is most likely a typing error.
	if errors.Is(err, iot.ErrNotFound) && (c.create || c.provider.Type == iot.TypeNormalization) {
		if err := c.provider.Create(ctx, connector); err != nil {
			return err
		}
		err = c.provider.Provision(ctx, c.key, c.spec)
	}
	if err != nil {
		return err
	}
	return c.say("provisioned %s %s on IotConnector %s", c.provider.Type, c.spec.Name, c.key.Name)
}

func newDeprovision(streams genericiooptions.IOStreams) *cobra.Command {
	c := newConnectorCommand(streams)
	cmd := c.command(&cobra.Command{
		Use:   "deprovision",
		Short: "Remove a deployment from an IotConnector, or the IotConnector",
		Long: `Remove a deployment from an IotConnector. Other deployments are left alone. With
--all the IotConnector itself is deleted. This is refused while the IotConnector
has more than one deployment of the given type: deprovision destinations first.`,
		Example: `  kinship iot deprovision hospital --type FhirConverter --name fhir-1
  kinship iot deprovision hospital --type Normalization --all`,
	}, func(ctx context.Context) error {
		if (c.spec.Name == "") != c.all {
			return command.Misused(errors.New("give either --name, or --all to delete the IotConnector itself"))
		}
		if c.all {
			if err := c.provider.Delete(ctx, c.key); err != nil {
				return err
			}
			return c.say("deleted IotConnector %s", c.key.Name)
		}
		if err := c.provider.Deprovision(ctx, c.key, c.spec.Name); err != nil {
			return err
		}
		return c.say("deprovisioned %s from IotConnector %s", c.spec.Name, c.key.Name)
	})
	cmd.Flags().StringVar(&c.provider.Type, "type", "", "type of the deployment")
	cmd.Flags().StringVar(&c.spec.Name, "name", "", "name of the deployment")
	cmd.Flags().BoolVar(&c.all, "all", false, "delete the IotConnector itself")
	c.changing(cmd)
	return required(cmd, "type")
}

func newUpgrade(streams genericiooptions.IOStreams) *cobra.Command {
	c := newConnectorCommand(streams)
	cmd := c.command(&cobra.Command{
		Use: "upgrade", Short: "Bring an IotConnector to version 1",
		Long: "Bring an IotConnector to version 1. The previous spec is kept for a rollback.",
	}, func(ctx context.Context) error {
		if err := c.provider.UpgradeConnector(ctx, c.key); err != nil {
			return err
		}
		return c.say("IotConnector %s is at version 1", c.key.Name)
	})
	c.changing(cmd)
	return cmd
}

func newRollback(streams genericiooptions.IOStreams) *cobra.Command {
	c := newConnectorCommand(streams)
	cmd := c.command(&cobra.Command{
		Use: "rollback", Short: "Restore the spec that an IotConnector had before its upgrade",
	}, func(ctx context.Context) error {
		if err := c.provider.RollbackConnector(ctx, c.key); err != nil {
			return err
		}
		return c.say("IotConnector %s has its spec of before the upgrade", c.key.Name)
	})
	c.changing(cmd)
	return cmd
}

func newConnectorStatus(streams genericiooptions.IOStreams) *cobra.Command {
	c := newConnectorCommand(streams)
	return c.command(&cobra.Command{
		Use: "status", Short: "Show the objects of an IotConnector, and what is missing",
	}, func(ctx context.Context) error {
		connector := &iotv1alpha1.IotConnector{}
		if err := c.provider.Client.Get(ctx, c.key, connector); err != nil {
			return err
		}
		return c.show(connector)
	})
}

// show writes status.conditions and status.inventory as a table.
func (c *connectorCommand) show(connector *iotv1alpha1.IotConnector) error {
	state, message := "Unknown", "no operator has reconciled this IotConnector yet"
	if ready := meta.FindStatusCondition(connector.Status.Conditions, "Ready"); ready != nil {
		state, message = ready.Reason, ready.Message
	}
	if connector.Status.ObservedGeneration != connector.Generation {
		state = "Changed"
	}
	version := connector.Spec.EffectiveVersion()
	fmt.Fprintf(c.Out, "IotConnector %s, version %d, %s: %s\n", connector.Name, version, state, render.Plain(message))
	if connector.Status.Previous != nil {
		fmt.Fprintln(c.Out, "A rollback to the spec before the upgrade is possible.")
	}
	w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tNAME\tTYPE\tREADY")
	for _, e := range connector.Status.Inventory {
		fmt.Fprintf(w, "%s\t%s\t%s\t%t\n", e.Kind, e.Name, e.Type, e.Ready)
	}
	return w.Flush()
}

// say writes a line to IOStreams.Out.
func (c *connectorCommand) say(format string, args ...any) error {
	_, err := fmt.Fprintf(c.Out, format+"\n", args...)
	return err
}
