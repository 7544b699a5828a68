package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/iot"
)

// manifests is the command "kinship manifests".
type manifests struct {
	operatorCommand

	mutatingPolicies bool
}

func newManifests(version string, streams genericiooptions.IOStreams) *cobra.Command {
	c := manifests{operatorCommand: operatorCommand{IOStreams: streams}}
	c.options.Version = version
	cmd := &cobra.Command{
		Use:   "manifests",
		Short: "Print what operator --install applies",
		Long: `Print the definitions, accounts, rights, webhooks and policies that "kinship operator --install"
applies with the same flags, as YAML for a GitOps tool. No cluster is asked, and nothing is
applied. The same release and the same flags print the same text.

The operator itself is not among the manifests: run it with the same flags and without
--install, in a Deployment as the chart has it, or outside of the cluster with
--webhook-host. It writes the certificates to trust and a secret path into the webhook
configurations.`,
		Example: "  kinship manifests | kubectl apply --server-side -f -\n" +
			"  kinship manifests --packs usage,oam --webhook-host 10.0.0.1 --webhook-port 9443 >kinship.yaml",
		Args: cobra.NoArgs,
		RunE: c.run,
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return command.Misused(err) })
	addPacks(cmd.Flags(), &c.options, "usage")
	c.addInstallationFlags(cmd.Flags(), pack.ByWebhook, iot.WorkloadIdentity)
	c.addWebhookFlags(cmd.Flags())
	cmd.Flags().BoolVar(&c.mutatingPolicies, "mutating-admission-policies", false,
		"print the policies for an API server that serves MutatingAdmissionPolicy (Kubernetes 1.36), which --install "+
			"finds out; the policies of false work in all versions")
	return cmd
}

func (c *manifests) run(*cobra.Command, []string) error {
	if err := c.parseKinds(); err != nil {
		return command.Misused(err)
	}
	if len(c.options.Packs) == 0 {
		c.options.Packs = options.FirstPacks()
	}
	all, err := install.Manifests(c.options, c.mutatingPolicies)
	if err != nil {
		return command.Misused(err)
	}
	for _, u := range all {
		text, err := yaml.Marshal(u.Object)
		if err != nil {
			return fmt.Errorf("print %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		if _, err := fmt.Fprintf(c.Out, "---\n%s", text); err != nil {
			return fmt.Errorf("print %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}
