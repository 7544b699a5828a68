package scenario

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// program is a command that [stories.until] can repeat. The result is the exit code.
type program func(ts *testscript.TestScript, args []string, out, errOut io.Writer) int

// command returns a program as a command, which fails unless the exit code is 0. With !, the command fails if the exit
// code is 0.
func command(run program) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if code := run(ts, args, ts.Stdout(), ts.Stderr()); neg == (code == 0) {
			ts.Fatalf("exit code %d", code)
		}
	}
}

// kubectl runs the kubectl of the control plane.
func (s stories) kubectl(ts *testscript.TestScript, args []string, out, errOut io.Writer) int {
	cmd := exec.CommandContext(s.ctx, filepath.Join(s.binaries, "kubectl"), args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "KUBECONFIG="+s.kubeconfig)
	cmd.Stdout, cmd.Stderr = out, errOut
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// post sends the JSON text of a file, with its variables, to the URL in another file, as somebody on the network can.
// post prints the status and the body of the answer. The exit code is 0 for status 200.
func (s stories) post(ts *testscript.TestScript, args []string, out, errOut io.Writer) int {
	text := os.Expand(ts.ReadFile(args[1]), ts.Getenv)
	request, err := http.NewRequestWithContext(s.ctx, http.MethodPost, ts.ReadFile(args[0]), strings.NewReader(text))
	ts.Check(err)
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // As an intruder would.
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		write(ts, errOut, err.Error())
		return 1
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ts.Check(err)
	write(ts, out, response.Status+"\n"+string(body))
	if response.StatusCode != http.StatusOK {
		return 1
	}
	return 0
}

// until repeats a program until its output contains a text, because the controllers of Kubernetes act asynchronously.
// With !, until repeats the program until its output lacks the text. Without the name of a program, until repeats
// kinship.
func (s stories) until(ts *testscript.TestScript, neg bool, args []string) {
	text, run, rest := args[0], program(s.kinship), args[1:]
	switch rest[0] {
	case "kubectl":
		run, rest = s.kubectl, rest[1:]
	case "post":
		run, rest = s.post, rest[1:]
	}
	s.repeat(ts, func() error {
		var out bytes.Buffer
		run(ts, rest, &out, &out)
		switch says := strings.Contains(out.String(), text); {
		case !says && !neg:
			return fmt.Errorf("never said %q, but\n%s", text, out.String())
		case says && neg:
			return fmt.Errorf("still says %q:\n%s", text, out.String())
		}
		write(ts, ts.Stdout(), out.String())
		return nil
	})
}
