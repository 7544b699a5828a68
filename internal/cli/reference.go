package cli

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/cli/command"
)

// Command returns the command kinship, which is not going to run, for the reference of commands and flags.
func Command() *cobra.Command {
	return newRoot("", genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard})
}

// ConnectionFlags returns the flags of kubectl, which commands that reach a cluster have.
func ConnectionFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	command.NewKubeFlags().AddTo(flags)
	return flags
}
