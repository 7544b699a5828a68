package pagetest

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/docs"
	"github.com/kinship-dev/kinship/internal/testenv"
)

var update = flag.Bool("update", false, "write the output of commands into the pages")

// Run runs the commands of a page in the top directory of the repository, in the order of the page.
// Run ends commands that together take longer than limit, and the test fails.
func Run(t *testing.T, limit time.Duration, root, page string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	p, err := docs.Read(root, page)
	if err != nil {
		t.Fatal(err)
	}
	s := start(ctx, t, root, env)
	u := updater{file: filepath.Join(root, filepath.FromSlash(page))}
	for _, block := range p.Blocks {
		if !block.Run() {
			continue
		}
		for _, command := range block.Commands() {
			t.Logf("%s:%d: %s", page, command.Line, strings.TrimSpace(command.Text))
			if command.Output == nil {
				script(t, s, command)
				continue
			}
			compare(t, s, command, &u)
		}
	}
}

func script(t *testing.T, s *session, command docs.Command) {
	t.Helper()
	output, code, err := s.run("set -e\n" + command.Text)
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v:\n%s", code, err, output)
	}
}

// reads matches commands that change nothing, such as `kubectl get`: compare repeats such a command
// until the output matches, as a reader would.
var reads = regexp.MustCompile(`^(kubectl( -n \S+)? (get|describe|wait)|` +
	`kinship (tree|why|who-uses|iot status)|kubectl kinship (tree|why|who-uses)) `)

// compare runs a command until its output is docs.Command.Output. A command that `reads` does not
// match runs once.
func compare(t *testing.T, s *session, command docs.Command, u *updater) {
	t.Helper()
	want := *command.Output
	var got string
	try := func() error {
		output, code, err := s.run("set +e\n" + command.Text)
		got = output
		if err != nil {
			t.Fatalf("%v:\n%s", err, output)
		}
		return Differs(want, output, code)
	}
	err := try()
	if err != nil && reads.MatchString(command.Text) && !*update {
		testenv.Eventually(t, try)
		return
	}
	switch {
	case *update && err != nil:
		u.replace(t, command.Text, want, got)
	case *update:
		u.replace(t, command.Text, want, want)
	case err != nil:
		t.Fatalf("%v", err)
	}
}

// updater writes the output of commands into a page, from the beginning to the end, because a page
// may contain a command twice.
type updater struct {
	file string
	done int // bytes of the page
}

func (u *updater) replace(t *testing.T, command, old, output string) {
	t.Helper()
	text, err := os.ReadFile(u.file)
	if err != nil {
		t.Fatal(err)
	}
	done, rest := string(text[:u.done]), string(text[u.done:])
	before, after, found := strings.Cut(rest, "$ "+command+"\n"+old)
	if !found {
		t.Fatalf("%s does not have the command %q after byte %d", u.file, command, u.done)
	}
	done += before + "$ " + command + "\n" + output
	if err := os.WriteFile(u.file, []byte(done+after), 0o644); err != nil {
		t.Fatal(err)
	}
	u.done = len(done)
}
