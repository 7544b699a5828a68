package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/internal/options"
)

// newRotate is the command "kinship rotate".
func newRotate(streams genericiooptions.IOStreams) *cobra.Command {
	flags, certificates := command.NewKubeFlags(), false
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Replace the secret path of the webhooks, or their certificates",
		Long: `Replace the secret part of the path at which the API server calls the operator's webhooks. Every
running operator follows within seconds, and no request is refused meanwhile. Rotate the path when somebody who should
not know it has seen it, for example in a webhook configuration.

With --certificates, the certificate authority is replaced too: the new one is trusted first, and the former one until
the last certificate that it has signed has expired.

Needed are the verbs patch and delete on the Secret kinship-webhook-certificate in namespace kinship-system.`,
		Example: "  kinship rotate\n  kinship rotate --certificates",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return rotate(cmd.Context(), streams, flags, certificates)
		},
	}
	flags.AddTo(cmd.Flags())
	cmd.Flags().BoolVar(&certificates, "certificates", false, "replace the certificate authority as well")
	return cmd
}

func rotate(
	ctx context.Context, streams genericiooptions.IOStreams, flags *command.KubeFlags, certificates bool,
) error {
	config, err := flags.Config()
	if err != nil {
		return err
	}
	if err := options.Rotate(ctx, config, certificates); err != nil {
		return err
	}
	what := "the secret path of the webhooks"
	if certificates {
		what += " and their certificate authority"
	}
	fmt.Fprintf(streams.Out, "Running operators replace %s now. An operator that starts later replaces the path anyway.\n",
		what)
	return nil
}
