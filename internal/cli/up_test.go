package cli

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/cli/command"
)

// upVar makes the test binary the program kinship: `up` needs a process of its own, with one
// registry of metrics and an end by signal.
const upVar = "KINSHIP_TEST_UP"

func init() {
	if os.Getenv(upVar) == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := Main(ctx, "test", os.Args, nil, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// patience is how long a process that hangs runs. A start takes less than 20 seconds, and much more beside
// other tests.
const patience = 4 * time.Minute

// run runs `kinship up` and interrupts the process once it has printed this line or step. run
// returns the output and the exit code.
func run(t *testing.T, interruptAt string, args ...string) (out string, code int) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"up"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // The output has all goroutines.
	cmd.Env = append(os.Environ(), upVar+"=1")
	var errOut strings.Builder
	cmd.Stderr = &errOut
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		out += lines.Text() + "\n"
		is := lines.Text() == interruptAt || strings.HasSuffix(lines.Text(), "  "+interruptAt)
		if interruptAt != "" && is {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // Only the exit code counts.
	t.Logf("%s\n%s", out, errOut.String())
	if cmd.ProcessState.ExitCode() != 0 {
		out += errOut.String() // The reason of the failure.
	}
	return out, cmd.ProcessState.ExitCode()
}

// TestUp ends by itself with --once after every step of every story, and keeps the directory. Without
// --once, TestUp starts there again and stays until Ctrl-C.
func TestUp(t *testing.T) {
	dir := t.TempDir()
	for _, way := range []struct {
		args        []string
		interruptAt string
		end         string
	}{
		{[]string{"--once"}, "", ""},
		{nil, "ready", "\nready\n"},
	} {
		out, code := run(t, way.interruptAt, append(way.args, "--data-dir", dir)...)
		if code != 0 || !strings.HasSuffix(out, way.end) || strings.Contains(out, "✗") {
			t.Errorf("%v: exit code %d", way.args, code)
		}
		if !strings.Contains(out, "Release/my-prometheus-chart (Usage release-uses-cluster).") {
			t.Errorf("%v: the answer of the API server is not told", way.args)
		}
		if _, err := os.Stat(filepath.Join(dir, "kubeconfig")); err != nil {
			t.Error(err)
		}
	}
}

// TestUpBare runs a control plane without Kinship, and prints how to install Kinship there.
func TestUpBare(t *testing.T) {
	dir := t.TempDir()
	out, code := run(t, "ready", "--bare", "--data-dir", dir)
	for _, want := range []string{
		"export KUBECONFIG=" + filepath.Join(dir, "kubeconfig"), "kinship operator --install", "kinship doctor",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("code %d, the output does not say %q:\n%s", code, want, out)
		}
	}
	out, code = run(t, "", "--bare", "--once")
	if code != command.ExitUsage || !strings.Contains(out, "leave out one of the two") {
		t.Errorf("with --once: code %d\n%s", code, out)
	}
}

// TestUpLeftOver starts in a directory with files of an earlier run. The output tells the user
// what to do about the files.
func TestUpLeftOver(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "etcd", "member", "snap")
	if err := os.MkdirAll(store, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store, "db"), []byte("what was left of a store"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := run(t, "", "--once", "--data-dir", dir)
	want := dir + " has what a run before it left: delete the directory, or name another one"
	if code != 1 || !strings.Contains(out, want) {
		t.Errorf("exit code %d, want to be told what to do:\n%s", code, out)
	}
}

// TestUpInterrupted ends in the middle of a story, which is no failure unless the
// story was to be checked.
func TestUpInterrupted(t *testing.T) {
	const middle = "delete Cluster/my-cluster: refused"
	if out, code := run(t, middle); code != 0 || strings.Contains(out, "✗") {
		t.Errorf("exit code %d, want 0", code)
	}
	if _, code := run(t, middle, "--once"); code != 1 {
		t.Errorf("with --once: exit code %d, want 1", code)
	}
}
