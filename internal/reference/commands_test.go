package reference_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kinship-dev/kinship/internal/reference"
)

const commandsPage = "<!-- Written by make generate from the commands: do not edit. -->\n" +
	"# Commands and flags\n\n" +
	"`kubectl kinship` is the program `kinship` under another name, and has the same commands. `armgen` is for " +
	"developers: `go run ./cmd/armgen`.\n\n" +
	"## tool\n\nDo things.\n\n```text\nFlags:\n      --all   all of it\n```\n\n" +
	"## tool ask\n\nAsk a question.\n\n" +
	"```text\nAsk 100% of it.\n\nUsage:\n  tool ask [flags]\n\nExamples:\n  tool ask it\n\n" +
	"Flags:\n      --deep   look deep\n\n" +
	"Flags of all tool commands:\n      --all   all of it\n```\n\n" +
	"The command has the [connection flags](#connection-flags) too.\n\n" +
	"## Connection flags\n\n```text\n      --context string   the context\n```\n"

// TestCommands has a connection flag on the page once, and leaves out hidden commands.
func TestCommands(t *testing.T) {
	connection := pflag.NewFlagSet("", pflag.ContinueOnError)
	connection.String("context", "", "the context")
	root := &cobra.Command{Use: "tool", Short: "Do things"}
	root.PersistentFlags().Bool("all", false, "all of it")
	nothing := func(*cobra.Command, []string) {}
	ask := &cobra.Command{
		Use: "ask", Short: "Ask a question", Long: "Ask 100% of it.", Example: "  tool ask it", Run: nothing,
	}
	ask.Flags().Bool("deep", false, "look deep")
	ask.Flags().AddFlag(connection.Lookup("context"))
	root.AddCommand(ask, &cobra.Command{Use: "old", Hidden: true, Run: nothing})
	if diff := cmp.Diff(commandsPage, reference.Commands(connection, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
