package reference

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Commands returns the Markdown page of commands and all commands below them, with their help. Flags that equal one of
// the connection flags are on the page once.
func Commands(connection *pflag.FlagSet, roots ...*cobra.Command) string {
	var p printer
	p.line("<!-- Written by make generate from the commands: do not edit. -->")
	p.line("# Commands and flags")
	p.line("")
	p.line("`kubectl kinship` is the program `kinship` under another name, and has the same commands. `armgen` is for " +
		"developers: `go run ./cmd/armgen`.")
	for _, root := range roots {
		describe(&p, root, connection)
	}
	p.line("")
	p.line("## Connection flags")
	p.line("")
	p.block(connection.FlagUsagesWrapped(flagWidth))
	return p.String()
}

// flagWidth is the width of lines with flags.
const flagWidth = 116

// describe prints the help of a command and of the commands below.
func describe(p *printer, cmd *cobra.Command, connection *pflag.FlagSet) {
	p.line("")
	p.line("## %s", cmd.CommandPath())
	p.line("")
	p.line("%s.", strings.TrimSuffix(cmd.Short, "."))
	text := cmd.Long
	if cmd.Runnable() {
		text += "\n\nUsage:\n  " + cmd.UseLine()
	}
	own, connects := split(cmd.NonInheritedFlags(), connection)
	text = section(text, "Examples", cmd.Example)
	text = section(text, "Flags", own.FlagUsagesWrapped(flagWidth))
	text = section(text, "Flags of all "+cmd.Root().Name()+" commands", cmd.InheritedFlags().FlagUsagesWrapped(flagWidth))
	if text = strings.Trim(text, "\n"); text != "" {
		p.line("")
		p.block(text)
	}
	if connects {
		p.line("")
		p.line("The command has the [connection flags](#connection-flags) too.")
	}
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			describe(p, below, connection)
		}
	}
}

// split returns the flags that are no connection flags, and whether there are connection flags too.
func split(flags, connection *pflag.FlagSet) (own *pflag.FlagSet, connects bool) {
	own = pflag.NewFlagSet("own", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if shared := connection.Lookup(f.Name); shared != nil && shared.Usage == f.Usage {
			connects = true
			return
		}
		own.AddFlag(f)
	})
	return own, connects
}

// section adds a titled part to a text, unless the part is empty.
func section(text, title, part string) string {
	if part = strings.Trim(part, "\n"); part == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n\n" + title + ":\n" + part
}

// block prints a text as it is.
func (p *printer) block(text string) {
	p.line("```text")
	p.line("%s", strings.Trim(text, "\n"))
	p.line("```")
}
