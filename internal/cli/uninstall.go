package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/app"
)

// uninstall is the command "kinship uninstall", which removes the operator.
type uninstall struct {
	operator

	how app.UninstallOptions
}

func newUninstall(streams genericiooptions.IOStreams) *cobra.Command {
	c := uninstall{operator: operator{IOStreams: streams, flags: genericclioptions.NewConfigFlags(true)}}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what operator --install applied, and every trace on other objects",
		Long: `Remove labels and finalizers, then webhooks and policies, then rights and definitions.

Nothing is protected any more afterwards, and the objects of all packs are gone:
Usages, IotConnectors, and those of OpenStack. What was made for them stays as it
is: the Deployments of IotConnectors run on and are nobody's, and what is in
OpenStack stays there. To have it deleted, delete the objects first.

Everything is read first. The command changes nothing, and says why, while an
operator runs (--force-live goes on) or objects of the packs exist (--with-objects
goes on). A kind that can't be read, because somebody's conversion webhook does
not answer for example, is named and left out. With --packs only these packs are
removed.`,
		Example: "  kinship uninstall --dry-run\n  kinship uninstall --with-objects",
		Args:    cobra.NoArgs,
		RunE:    c.run,
	}
	// The kubectl flag --request-timeout limits 1 request; uninstall sends many.
	c.flags.AddFlags(cmd.Flags())
	f := cmd.Flags()
	addPacks(f, &c.options)
	f.BoolVar(&c.how.ForceLive, "force-live", false, "go on beside an operator that runs, which may put traces back")
	f.BoolVar(&c.how.WithObjects, "with-objects", false, "go on where objects of the packs exist, and delete them")
	f.BoolVar(&c.how.DryRun, "dry-run", false, "say what would be removed, and remove nothing")
	f.DurationVar(&c.how.Timeout, "timeout", 10*time.Second, "how long to wait for the objects of one kind to be read")
	return cmd
}

func (c *uninstall) run(cmd *cobra.Command, _ []string) error {
	if err := c.complete(); err != nil {
		return err
	}
	c.how.Say = func(format string, args ...any) { fmt.Fprintf(c.Out, format+"\n", args...) }
	return app.Uninstall(cmd.Context(), c.options, c.how)
}
