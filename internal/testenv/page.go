package testenv

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// PageCommands returns the blocks of commands in one section of a page and its subsections.
func PageCommands(tb testing.TB, page, section string) []string {
	tb.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
	if !found {
		tb.Fatalf("%s has no section %s", page, section)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	parts := strings.Split(rest, "```sh\n")[1:]
	all := make([]string, 0, len(parts))
	for _, part := range parts {
		block, _, _ := strings.Cut(part, "```")
		all = append(all, block)
	}
	return all
}

// Shell runs the commands of a page of docs/ in a directory. KUBECONFIG names the test's control
// plane and a namespace.
func Shell(tb testing.TB, dir, namespace, commands string) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "sh", "-e", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NAMESPACE="+namespace, "KUBECONFIG="+Kubeconfig(tb),
		"PATH="+Cluster(tb).BinDir()+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v: %s", commands, err, out)
	}
}
