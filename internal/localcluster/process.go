package localcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// gracePeriod is how long a process may take to end before SIGKILL.
const gracePeriod = 5 * time.Second

// lifelineEnv tells a child which of its files is the lifeline; see the package
// of the multi-call binary.
const lifelineEnv = "KINSHIP_LIFELINE_FD=3"

// inherited are the variables that programs get from this process. GOGC and GOMEMLIMIT let a
// machine trade memory for time: with GOGC=400 an API server needs a tenth less processor time.
var inherited = []string{"PATH", "TMPDIR", "GOGC", "GOMEMLIMIT"}

// lifeline is a pipe without data. Children hold the reading end, and end when the pipe closes:
// the kernel closes the pipe when this process dies for any reason.
type lifeline struct{ child, ours *os.File }

func newLifeline() (lifeline, error) {
	child, ours, err := os.Pipe()
	if err != nil {
		return lifeline{}, fmt.Errorf("create the lifeline: %w", err)
	}
	return lifeline{child: child, ours: ours}, nil
}

func (l lifeline) close() {
	_ = l.ours.Close() // Nothing was written, so nothing can be lost.
	_ = l.child.Close()
}

// process is a running component.
type process struct {
	component
	logPath string
	cmd     *exec.Cmd
	// exited is closed when the process is gone; exitErr is set before.
	exited  chan struct{}
	exitErr error

	stopping atomic.Bool
}

// startProcess starts a component and calls onExit if the process ends unasked.
func startProcess(c component, binDir string, dir layout, line lifeline, onExit func(error)) (*process, error) {
	p := &process{component: c, logPath: dir.log(c.name), exited: make(chan struct{})}
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", c.name, err)
	}
	defer func() { _ = log.Close() }() // The child has its own.

	p.cmd = exec.Command(filepath.Join(binDir, c.name), c.args...)
	p.cmd.Dir = string(dir)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.ExtraFiles = []*os.File{line.child}
	p.cmd.SysProcAttr = ownGroup()
	// The environment is not inherited: ETCD_* and KUBECONFIG would change the programs.
	p.cmd.Env = []string{lifelineEnv, "HOME=" + string(dir)}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			p.cmd.Env = append(p.cmd.Env, name+"="+value)
		}
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	go p.wait(onExit)
	return p, nil
}

func (p *process) wait(onExit func(error)) {
	p.exitErr = p.cmd.Wait()
	close(p.exited)
	if !p.stopping.Load() {
		onExit(p.failure())
	}
}

// failure returns the error for [Cluster.Err] when a process ended without process.expectExit.
func (p *process) failure() error {
	reason := "exit status 0"
	if p.exitErr != nil {
		reason = p.exitErr.Error()
	}
	return fmt.Errorf("%s ended unexpectedly: %s; the end of %s:\n%s", p.name, reason, p.logPath, tail(p.logPath))
}

// stop sends SIGTERM to the process, waits, and sends SIGKILL after gracePeriod.
func (p *process) stop() error {
	if err := p.send(terminate); err != nil {
		return err
	}
	// A paused process (SIGSTOP) reacts only to SIGCONT and SIGKILL.
	if err := p.send(resume); err != nil {
		return err
	}
	timer := time.NewTimer(gracePeriod)
	defer timer.Stop()
	select {
	case <-p.exited:
		return nil
	case <-timer.C:
		return p.kill()
	}
}

// paused returns nil once all threads of the process are stopped: SIGSTOP reaches one thread
// after the other. Without /proc the state is unknown.
func (p *process) paused() error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	if err != nil {
		return fmt.Errorf("look for threads: %w", err)
	}
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read the state of a thread: %w", err)
		}
		// The state follows the name, in which anything may be: proc_pid_stat(5).
		if _, state, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " "); !strings.HasPrefix(state, "T") {
			return fmt.Errorf("a thread still runs: %s", stat)
		}
	}
	return nil
}

// kill sends SIGKILL, like a crash, and waits until process.exited is closed.
func (p *process) kill() error {
	if err := p.send(kill); err != nil {
		return err
	}
	<-p.exited
	return nil
}

// expectExit makes the coming end of the process no failure.
func (p *process) expectExit() { p.stopping.Store(true) }

// send sends a signal. For a process that has already ended, send returns nil.
func (p *process) send(signal os.Signal) error {
	select {
	case <-p.exited:
		return nil
	default:
	}
	if err := p.cmd.Process.Signal(signal); err != nil && !isGone(err) {
		return fmt.Errorf("send %s to %s: %w", signal, p.name, err)
	}
	return nil
}

// ready returns nil if component.readyURL answers. The error is final (isFinal) when the process
// has ended and component.restarts is 0.
func (p *process) ready(ctx context.Context, probe prober) error {
	select {
	case <-p.exited:
		if p.restarts == 0 {
			return final(p.failure())
		}
		return p.failure()
	default:
		return probe.get(ctx, p.readyURL)
	}
}

// Limits of the part of a log that process.failure quotes.
const (
	tailLines = 12
	tailBytes = 8192
)

// tail returns at most tailLines lines from the end of a file. If os.ReadFile fails, tail returns
// the text of that error: tail is part of another error message.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if panicked := bytes.LastIndex(content, []byte("\npanic: ")); panicked >= 0 {
		stack := bytes.Index(content[panicked:], []byte("\n\ngoroutine "))
		if stack >= 0 { // It says less than what comes before it.
			content = content[:panicked+stack]
		}
	}
	content = bytes.TrimSpace(content[max(0, len(content)-tailBytes):])
	lines := bytes.Split(content, []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n")))
}
