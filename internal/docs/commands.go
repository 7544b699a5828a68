package docs

import "strings"

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

// Tested are the pages whose commands tests run.
var Tested = []string{
	// By TestPages in test/docs.
	"docs/packs/azure.md", "docs/packs/iot.md", "docs/packs/oam.md", "docs/packs/openstack.md", "docs/packs/usage.md",
	"docs/troubleshooting.md",
	// By TestTutorial in release/incluster.
	"docs/tutorial.md",
	// By TestBackupPage in test/openstack, and testBackupPage in test/usage and test/iot.
	"docs/backup-and-restore.md",
	// By TestUninstallByHand in test/uninstall, and by TestTutorial.
	"docs/uninstall.md",
}
