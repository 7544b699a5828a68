package gauge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Operator is bin/kinship in a process of its own, so that [ReadProcess] can read its CPU time and
// memory.
type Operator struct {
	PID int
	log string
	// end stops the process; ended is closed when the process has ended.
	end   context.CancelFunc
	ended chan struct{}
}

// operatorGrace is how long the process may take to end after SIGTERM; then exec.Cmd kills the
// process.
const operatorGrace = 10 * time.Second

// StartOperator starts a program with --kubeconfig and further arguments, and writes its log to a
// file. If the process ends before [Operator.Stop], StartOperator calls cancel with the reason.
func StartOperator(
	ctx context.Context, program, kubeconfig, logFile string, cancel context.CancelCauseFunc, args ...string,
) (_ *Operator, err error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the operator's log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }() // The process has a file descriptor of its own.

	// WithoutCancel lets the process outlive a SIGINT to this program: the operator must release
	// the created objects.
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	args = append([]string{
		"operator", "--kubeconfig", kubeconfig, "--install", "--webhook-host", "127.0.0.1",
		"--leader-elect=false", "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
	}, args...)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = operatorGrace
	cmd.SysProcAttr = endWithUs()
	if err := cmd.Start(); err != nil {
		end()
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	o := &Operator{PID: cmd.Process.Pid, log: logFile, end: end, ended: make(chan struct{})}
	go func() {
		err := cmd.Wait()
		close(o.ended)
		if ctx.Err() != nil {
			return // Stop was called.
		}
		cancel(fmt.Errorf("the operator ended: %w; the end of its log:\n%s", err, o.logTail()))
	}()
	return o, nil
}

// Stop ends the process and waits for its end.
func (o *Operator) Stop() {
	o.end()
	<-o.ended
}

// quotedLines is the number of log lines in the error of [StartOperator].
const quotedLines = 20

func (o *Operator) logTail() string {
	content, err := os.ReadFile(o.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-quotedLines):], "\n")
}
