package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/internal/rights"
)

// rightsCommand is the command "kinship rights".
type rightsCommand struct {
	genericiooptions.IOStreams

	flags *command.KubeFlags
	pack  string
	using []string
	check bool
}

func newRights(streams genericiooptions.IOStreams) *cobra.Command {
	c := rightsCommand{IOStreams: streams, flags: command.NewKubeFlags()}
	cmd := &cobra.Command{
		Use:   "rights RESOURCE...",
		Short: "Print the rights that a pack needs for kinds that users name",
		Long: `Print a ClusterRole with the rights that a pack needs to act on kinds that its users name:
the kinds that Usages protect, or the kinds of workloads and traits of applications.

Because of its label, Kubernetes adds the rules to the ClusterRole kinship-PACK-kinds of the
pack's account. Apply the ClusterRole; the operator needs no restart.
With --check, only the rights that the account of the pack lacks are printed.`,
		Example: "  kinship rights clusters.eks.upbound.io configmaps | kubectl apply -f -\n" +
			"  kinship rights --pack oam mydbs.standard.oam.dev\n" +
			"  kinship rights --check clusters.eks.upbound.io",
		RunE: c.run,
	}
	c.flags.AddTo(cmd.Flags())
	cmd.Flags().StringVar(&c.pack, "pack", rights.KindPacks[0],
		"pack that acts on the resources: "+strings.Join(rights.KindPacks, " or "))
	cmd.Flags().StringSliceVar(&c.using, usingFlag, nil,
		"further resources that may use protected ones, as in releases.helm.crossplane.io")
	cmd.Flags().BoolVar(&c.check, "check", false, "ask the cluster which of the rights are missing")
	return cmd
}

func (c *rightsCommand) run(cmd *cobra.Command, args []string) error {
	if len(args)+len(c.using) == 0 {
		return command.Misused(fmt.Errorf("name at least one resource, as in clusters.eks.upbound.io"))
	}
	role, err := rights.KindRole(c.pack, rights.Kinds{Used: parseResources(args), Using: parseResources(c.using)})
	if err != nil {
		return command.Misused(err)
	}
	if c.check {
		return c.ask(cmd.Context(), role, args)
	}
	text, err := yaml.Marshal(role)
	if err != nil {
		return fmt.Errorf("print the ClusterRole: %w", err)
	}
	_, err = c.Out.Write(text)
	return err
}

// ask prints which rights of the role the account of the pack lacks, and the command that gives them.
func (c *rightsCommand) ask(ctx context.Context, role *rbacv1.ClusterRole, args []string) error {
	config, err := c.flags.Config()
	if err != nil {
		return err
	}
	if err := rights.CheckRights(ctx, config, c.pack, c.flags.Overrides.Context.Namespace, role); err != nil {
		again := append([]string{"kinship rights --pack", c.pack}, args...)
		if len(c.using) > 0 {
			again = append(again, "--"+usingFlag, strings.Join(c.using, ","))
		}
		return fmt.Errorf("%w\ngive the rights with: %s | kubectl apply -f -", err, strings.Join(again, " "))
	}
	fmt.Fprintf(c.Out, "pack %s has all rights to %s\n", c.pack, strings.Join(append(args, c.using...), ", "))
	return nil
}
