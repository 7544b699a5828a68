package pagetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// session is one bash process for all commands of a page: variables and background jobs persist
// from command to command, as in a reader's terminal.
type session struct {
	cmd    *exec.Cmd
	input  io.Writer
	status *bufio.Reader
	files  string
}

// start starts bash in a directory. bash and its background jobs end with the test.
func start(ctx context.Context, tb testing.TB, dir string, env []string) *session {
	tb.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	s := &session{cmd: exec.CommandContext(ctx, "bash"), status: bufio.NewReader(read), files: tb.TempDir()}
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), env...)
	s.cmd.ExtraFiles = []*os.File{write}
	// Setpgid puts background jobs into the process group of bash, which s.cmd.Cancel kills.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.Cancel = func() error { return syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) }
	if s.input, err = s.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		tb.Fatalf("start a shell: %v", err)
	}
	if err := write.Close(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = s.cmd.Cancel() // Fails only if no process of the group is left.
		_ = s.cmd.Wait()   // A killed shell is no failure.
		_ = read.Close()
	})
	return s
}

// run runs a script and returns its output and exit code.
func (s *session) run(script string) (output string, code int, err error) {
	in, out := filepath.Join(s.files, "script"), filepath.Join(s.files, "output")
	if err := os.WriteFile(in, []byte(script), 0o600); err != nil {
		return "", 0, err
	}
	// 3>&- closes the pipe of exit codes for background jobs, which would otherwise keep the pipe
	// open.
	_, err = fmt.Fprintf(s.input, "{ . '%s'; } >'%s' 2>&1 </dev/null 3>&-\necho $? >&3\n", in, out)
	if err != nil {
		return "", 0, fmt.Errorf("write to the shell: %w", err)
	}
	line, err := s.status.ReadString('\n')
	text, readErr := os.ReadFile(out)
	if err != nil {
		return string(text), 1, errors.New("the shell has ended")
	}
	if readErr != nil {
		return "", 0, readErr
	}
	code, err = strconv.Atoi(strings.TrimSpace(line))
	return string(text), code, err
}
