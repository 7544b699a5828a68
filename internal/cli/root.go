package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/cli/answers"
	"github.com/kinship-dev/kinship/internal/cli/clouds"
	"github.com/kinship-dev/kinship/internal/cli/command"
)

// Main runs the command in args, args[0] being the program name, and returns the exit code.
func Main(ctx context.Context, version string, args []string, in io.Reader, out, errOut io.Writer) int {
	streams := genericiooptions.IOStreams{In: in, Out: out, ErrOut: errOut}
	root := newRoot(version, streams) //nolint:contextcheck // a command gets its context from ExecuteContext
	if strings.HasPrefix(filepath.Base(args[0]), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl kinship"}
	}
	root.SetArgs(args[1:])
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(errOut, "Error:", text)
	}
	if exit, ok := errors.AsType[command.ExitError](err); ok {
		return exit.Code
	}
	return 1
}

func newRoot(version string, streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:   "kinship",
		Short: "The relationships between Kubernetes resources",
		Long: "Shows which objects own, use or wait for another object, and which object must not be deleted\n" +
			"while another still needs it.",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		newUp(version, streams),
		newOperator(version, streams),
		newUninstall(streams),
		newDoctor(version, streams),
		newManifests(version, streams),
		answers.NewTree(streams),
		answers.NewWhoUses(streams),
		answers.NewWhy(streams),
		answers.NewWithdraw(streams),
		newRelations(streams),
		newRights(streams),
		newRotate(streams),
		clouds.NewIot(streams),
		clouds.NewOpenstack(streams),
		clouds.NewAzure(streams),
		newEmulator(streams),
	)
	checkArguments(root)
	return root
}

// checkArguments makes wrong arguments of the command, and of all commands below, end with ExitUsage and the usage of
// the command.
func checkArguments(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return command.Misused(fmt.Errorf("%w\nUsage: %s", err, cmd.UseLine()))
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		checkArguments(child)
	}
}
