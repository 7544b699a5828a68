package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/uninstall"
)

// uninstallCommand is the command "kinship uninstall", which removes the operator.
type uninstallCommand struct {
	operatorCommand

	how uninstall.Options
	// yes leaves the question out.
	yes bool
}

func newUninstall(streams genericiooptions.IOStreams) *cobra.Command {
	c := uninstallCommand{operatorCommand: asOperator(streams)}
	c.brief = true
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what operator --install applied, and every trace on other objects",
		Long: `Remove labels and finalizers, then webhooks and policies, then rights and definitions.

Nothing is protected any more afterwards, and the objects of all packs are gone:
Usages, IotConnectors, and those of OpenStack. What was made for them stays as it
is: the Deployments of IotConnectors run on and are nobody's, and what is in
OpenStack stays there. To have it deleted, delete the objects first.

Everything is read first. On a terminal, the plan is printed and confirmed with "yes"; without
a terminal, --yes is needed. The command changes nothing, and says why, while an
operator runs (--force-live goes on) or objects of the packs exist (--with-objects
goes on). A kind that can't be read, because somebody's conversion webhook does
not answer for example, is named and left out. With --packs only these packs are
removed.`,
		Example: "  kinship uninstall --dry-run\n  kinship uninstall --with-objects\n" +
			"  kinship uninstall --packs openstack --yes",
		Args: cobra.NoArgs,
		RunE: c.run,
	}
	// The kubectl flag --request-timeout limits 1 request; uninstall sends many.
	c.flags.AddTo(cmd.Flags())
	f := cmd.Flags()
	addPacks(f, &c.options, "all")
	f.BoolVar(&c.how.ForceLive, "force-live", false, "go on beside an operator that runs, which may put traces back")
	f.BoolVar(&c.how.WithObjects, "with-objects", false, "go on where objects of the packs exist, and delete them")
	f.BoolVar(&c.how.DryRun, "dry-run", false, "say what would be removed, and remove nothing")
	f.BoolVarP(&c.yes, "yes", "y", false, "do not ask")
	f.DurationVar(&c.how.Timeout, "timeout", 10*time.Second, "how long to wait for the objects of one kind to be read")
	return cmd
}

func (c *uninstallCommand) run(cmd *cobra.Command, _ []string) error {
	if err := c.complete(); err != nil {
		return err
	}
	c.how.Say = func(format string, args ...any) { fmt.Fprintf(c.Out, format+"\n", args...) }
	if !c.yes {
		c.how.Confirm = c.confirm
	}
	return uninstall.Uninstall(cmd.Context(), c.options, c.how)
}

// confirm asks the user on the terminal whether to go on.
func (c *uninstallCommand) confirm() error {
	file, ok := c.In.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return errors.New("there is no terminal to ask on: --yes removes all this")
	}
	fmt.Fprintf(c.Out, "Remove all this from the cluster at %s? Only \"yes\" goes on: ", c.options.Config.Host)
	answer, err := bufio.NewReader(io.LimitReader(c.In, longestAnswer)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("the answer is not \"yes\"")
	}
	return nil
}

// longestAnswer bounds what is read from the terminal.
const longestAnswer = 1 << 10
