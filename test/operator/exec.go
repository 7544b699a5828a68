package operator

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/freeport"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// childVar is the environment variable that makes the test binary run as the program kinship.
const childVar = "KINSHIP_TEST_OPERATOR"

func init() {
	if os.Getenv(childVar) == "" {
		return
	}
	//nolint:forbidigo // this is the main of a program, where contexts begin
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		// The parent has the other end of os.Stdin and never writes: os.Stdin closes when the
		// parent ends.
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(1)
	}()
	code := cli.Main(ctx, "test", os.Args, nil, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Process is an operator that runs as a process of its own.
type Process struct {
	cmd    *exec.Cmd
	health string
	log    tail
	exited chan struct{}
	err    error // valid once exited is closed
	ended  sync.Once
}

// Exec runs the operator as a process until the end of the test, and returns when the operator is
// ready. Exec appends args to the flags of `kinship operator`, and args override the flags; without
// args the operator is one replica on a free port of 127.0.0.1. The process ends with the test
// binary, even after a SIGKILL. If the test fails, Exec prints the log.
func Exec(tb testing.TB, args ...string) *Process {
	tb.Helper()
	return ExecIn(tb, "", args...)
}

// ExecIn is [Exec] inside a cgroup, such as /sys/fs/cgroup/memory/kinship with a limit of memory. The process joins
// the cgroup before it becomes the operator. Without a cgroup, ExecIn is Exec.
func ExecIn(tb testing.TB, cgroup string, args ...string) *Process {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatalf("operator: find the running program: %v", err)
	}
	args = slices.Concat([]string{"--openstack-open-cidrs", "127.0.0.0/8", "--take-webhooks"}, args)
	if cgroup == "" {
		return ExecProgram(tb, program, args...)
	}
	// exec keeps the process ID: the Process is the operator.
	join := []string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, cgroup, program}
	return execCommand(tb, join, args)
}

// ExecProgram is [Exec] with another executable, such as an earlier release of kinship. An earlier
// release may outlive a test binary after a SIGKILL.
func ExecProgram(tb testing.TB, program string, args ...string) *Process {
	tb.Helper()
	return execCommand(tb, []string{program}, args)
}

// execCommand starts a command with the flags of `kinship operator`, and args after the flags.
func execCommand(tb testing.TB, command, args []string) *Process {
	tb.Helper()
	p := &Process{health: FreeAddress(tb), exited: make(chan struct{})}
	p.start(tb, exec.Command(command[0], slices.Concat(command[1:], []string{
		"operator", "--kubeconfig", testenv.Kubeconfig(tb), "--install", "--adopt", "--verbose",
		"--webhook-host", "127.0.0.1", "--leader-elect=false",
		"--metrics-bind-address", "0", "--health-probe-bind-address", p.health,
		"--packs", strings.Join(packs, ","),
	}, args)...))
	return p
}

// ExecArgs is [Exec] with exactly these arguments of `kinship`, such as those of a Deployment, and
// --health-probe-bind-address.
func ExecArgs(tb testing.TB, args ...string) *Process {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatalf("operator: find the running program: %v", err)
	}
	p := &Process{health: FreeAddress(tb), exited: make(chan struct{})}
	p.start(tb, exec.Command(program, append(slices.Clone(args), "--health-probe-bind-address", p.health)...))
	return p
}

// start starts the exec.Cmd, and returns when the operator is ready.
func (p *Process) start(tb testing.TB, cmd *exec.Cmd) {
	tb.Helper()
	p.cmd = cmd
	p.cmd.Env = append(environment(), childVar+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if _, err := p.cmd.StdinPipe(); err != nil {
		tb.Fatalf("operator: %v", err)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatalf("operator: %v", err)
	}
	go func() {
		defer close(p.exited)
		p.err = p.cmd.Wait()
	}()
	tb.Cleanup(func() {
		if err := p.Stop(); err != nil {
			tb.Errorf("operator: %v", err)
		}
		p.log.show(tb)
	})
	testenv.EventuallyWithin(tb, readyTimeout, p.ready)
}

// environment returns os.Environ() without GOGC, which `make test` sets for the control plane. With
// GOGC, the operator would set no memory limit of its own, and use more memory.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "GOGC=") })
}

// ready returns an error unless /readyz answers 200.
func (p *Process) ready() error {
	response, err := http.Get("http://" + p.health + "/readyz")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("operator is not ready: %s", response.Status)
	}
	return nil
}

// Readyz returns the code and the text of the process's /readyz.
func (p *Process) Readyz(tb testing.TB) (int, string) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://"+p.health+"/readyz?verbose", nil)
	if err != nil {
		tb.Fatalf("operator: %v", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		tb.Fatalf("operator: %v", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatalf("operator: %v", err)
	}
	return response.StatusCode, string(text)
}

// HealthAddress returns the address of the process's /healthz and /readyz.
func (p *Process) HealthAddress() string { return p.health }

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the operator at once by SIGKILL: the operator cleans up nothing.
func (p *Process) Kill() {
	p.ended.Do(func() {
		_ = p.cmd.Process.Kill() // Fails only if the process has already ended.
		<-p.exited
		p.err = nil // A killed process is no failure.
	})
}

// stopTimeout is the longest time that the operator may take to end after SIGTERM.
const stopTimeout = 30 * time.Second

// Stop sends SIGTERM, waits until the process has ended, and returns its error. After
// [Process.Kill], Stop does nothing.
func (p *Process) Stop() error {
	p.ended.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // Fails only if the process has already ended.
		select {
		case <-p.exited:
		case <-time.After(stopTimeout):
			_ = p.cmd.Process.Kill()
			<-p.exited
			p.err = fmt.Errorf("did not end within %s of SIGTERM", stopTimeout)
		}
	})
	return p.err
}

// Log returns the log of the operator so far.
func (p *Process) Log() string { return p.log.String() }

// FreeAddress returns an address with a free TCP port of 127.0.0.1.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	port, err := freeport.Find("127.0.0.1")
	if err != nil {
		tb.Fatalf("operator: find a free port: %v", err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
