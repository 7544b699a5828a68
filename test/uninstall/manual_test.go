package uninstall_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestUninstallByHand runs the commands of docs/uninstall.md that need no program of Kinship, after
// definitions and namespaces were deleted. No object is stuck.
func TestUninstallByHand(t *testing.T) {
	w := newWorld(t)
	w.stop()
	w.removeDefinitions()
	w.removeNamespace(stories)
	w.removeNamespace(options.Namespace)
	w.begun(declarations...)
	w.byHand()
	w.nothingStuck()
}

// byHand runs the commands below the last heading of docs/uninstall.md.
func (w *world) byHand() {
	w.t.Helper()
	text, err := os.ReadFile("../../docs/uninstall.md")
	if err != nil {
		w.t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Without the program\n")
	_, block, found := strings.Cut(section, "```sh\n")
	commands, _, _ := strings.Cut(block, "\n```")
	if !found || strings.Contains(section[len(section)-len(block)+len(commands)+4:], "```sh") {
		w.t.Fatal("the section does not have one block of commands")
	}
	cluster := testenv.Cluster(w.t)
	cmd := exec.CommandContext(w.t.Context(), "sh", "-uc", commands)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig(),
		"PATH="+cluster.BinDir()+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	w.t.Logf("the commands print:\n%s", out)
	if err != nil {
		w.t.Errorf("the commands of docs/uninstall.md: %v", err)
	}
}
