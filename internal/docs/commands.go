package docs

import (
	"slices"
	"strings"
)

// Command is a command of a [Page].
type Command struct {
	Line int
	// Text is a script for bash.
	Text string
	// Output is the output that the page shows below the command; nil if the page shows no output.
	Output *string
}

// Run reports whether a test must run the commands of a [Block].
func (b Block) Run() bool { return b.IsShell() && b.NotRun == "" }

// IsShell reports whether a [Block] has commands.
func (b Block) IsShell() bool { return b.Language == "sh" || b.Language == "console" }

// prompts begin the lines of a block that has commands.
var prompts = []string{"$ ", "kubectl ", "kinship ", "helm "}

// IsUntagged reports whether a block looks like commands and does not have the language of commands. The
// commands of such a block are not run.
func (b Block) IsUntagged() bool {
	if b.IsShell() {
		return false
	}
	for line := range strings.Lines(b.Text) {
		if slices.ContainsFunc(prompts, func(prompt string) bool { return strings.HasPrefix(line, prompt) }) {
			return true
		}
	}
	return false
}

// Commands returns the commands of a [Block]: one [Command] for a block sh, and one for each prompt
// "$ " of a block console.
func (b Block) Commands() []Command {
	if b.Language == "sh" {
		return []Command{{Line: b.Line, Text: b.Text}}
	}
	var commands []Command
	var output *strings.Builder
	finish := func() {
		if output != nil {
			text := output.String()
			commands[len(commands)-1].Output = &text
		}
	}
	continued := false
	for i, line := range strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n") {
		text, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case prompt:
			finish()
			output = &strings.Builder{}
			commands = append(commands, Command{Line: b.Line + i, Text: text})
		case continued:
			commands[len(commands)-1].Text += "\n" + line
		case output != nil:
			output.WriteString(line + "\n")
		}
		continued = (prompt || continued) && strings.HasSuffix(line, `\`)
	}
	finish()
	return commands
}

// Pages are the pages that TestPages in test/docs runs, in this order.
var Pages = []string{
	"docs/packs/usage.md", "docs/packs/iot.md", "docs/packs/oam.md", "docs/packs/openstack.md", "docs/packs/azure.md",
	"docs/troubleshooting.md",
}

// Tested are the pages whose commands tests run: Pages, and pages with a test of their own.
var Tested = slices.Concat(Pages, []string{
	// By TestTutorial in release/incluster.
	"docs/tutorial.md",
	// By TestBackupPage in test/openstack, and testBackupPage in test/usage and test/iot.
	"docs/backup-and-restore.md",
	// By TestUninstallByHand in test/uninstall, and by TestTutorial.
	"docs/uninstall.md",
})
