package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/kinship-dev/kinship/internal/localcluster"
)

// localRun is a control plane on this machine, with the operator as a process of
// its own, so that its CPU time and memory are its own too.
type localRun struct {
	cluster *localcluster.Cluster
	dir     string
	isTemp  bool
	// endOperator asks the operator to end; ended is closed when it has.
	endOperator context.CancelFunc
	ended       chan struct{}
}

// operatorGrace is how long the operator may take to end before it is killed.
const operatorGrace = 10 * time.Second

// startLocal starts both and fills in the options by which they are found. When
// either ends before its time, cancel is called with the reason.
func startLocal(
	ctx context.Context, o *options, progress io.Writer, cancel context.CancelCauseFunc,
) (_ *localRun, err error) {
	l := &localRun{dir: o.dataDir, isTemp: o.dataDir == ""}
	if l.isTemp {
		if l.dir, err = os.MkdirTemp("", "kinship-bench-*"); err != nil {
			return nil, fmt.Errorf("make a directory: %w", err)
		}
	}
	if l.dir, err = filepath.Abs(l.dir); err != nil {
		return nil, fmt.Errorf("find the directory: %w", err)
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.stop())
		}
	}()
	fmt.Fprintln(progress, "Starting a control plane ...")
	options := localcluster.Options{DataDir: l.dir, WithoutPods: true}
	if o.audit {
		if options.ExtraArgs, err = l.auditArgs(o); err != nil {
			return nil, err
		}
	}
	if l.cluster, err = localcluster.Start(ctx, options); err != nil {
		return nil, err
	}
	o.kubeconfig = l.cluster.Kubeconfig()
	o.apiServerPID, o.etcdPID = l.cluster.PID(localcluster.APIServer), l.cluster.PID(localcluster.Etcd)
	go func() {
		<-l.cluster.Done()
		cancel(l.cluster.Err())
	}()
	fmt.Fprintln(progress, "Starting the operator ...")
	if o.operatorPID, err = l.startOperator(ctx, o, cancel); err != nil {
		return nil, err
	}
	return l, l.awaitInstalled(ctx, o)
}

// auditArgs are what the API server must be told to keep an audit log.
func (l *localRun) auditArgs(o *options) (map[string][]string, error) {
	policy := filepath.Join(l.dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("write audit policy: %w", err)
	}
	o.auditLog = filepath.Join(l.dir, "audit.log")
	return map[string][]string{localcluster.APIServer: {
		"--audit-policy-file=" + policy,
		"--audit-log-path=" + o.auditLog,
		"--audit-log-maxsize=100000", // Else a new file begins after 100 MB.
	}}, nil
}

func (l *localRun) operatorLog() string { return filepath.Join(l.dir, "operator.log") }

func (l *localRun) startOperator(ctx context.Context, o *options, cancel context.CancelCauseFunc) (pid int, err error) {
	log, err := os.OpenFile(l.operatorLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open the operator's log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }() // The process has its own.

	// It must outlive an interrupt: what was created is released by it.
	ctx, l.endOperator = context.WithCancel(context.WithoutCancel(ctx))
	args := append([]string{
		"operator", "--kubeconfig", o.kubeconfig, "--install", "--packs", "usage",
		"--webhook-host", "127.0.0.1", "--leader-elect=false",
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0",
	}, o.operatorArgs...)
	cmd := exec.CommandContext(ctx, o.operatorBin, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = operatorGrace
	cmd.SysProcAttr = endWithUs()
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the operator: %w", err)
	}
	l.ended = make(chan struct{})
	go func() {
		err := cmd.Wait()
		close(l.ended)
		if ctx.Err() != nil {
			return // It was asked to.
		}
		cancel(fmt.Errorf("the operator ended: %w; the end of its log:\n%s", err, l.logTail()))
	}()
	return cmd.Process.Pid, nil
}

// awaitInstalled waits for the kind of Usage and then restarts the controller
// manager: its garbage collector would learn of new kinds half a minute later.
func (l *localRun) awaitInstalled(ctx context.Context, o *options) error {
	client, err := discovery.NewDiscoveryClientForConfig(l.cluster.Config())
	if err != nil {
		return fmt.Errorf("make discovery client: %w", err)
	}
	if _, err := awaitServed(ctx, client, o); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	return l.cluster.Restart(ctx, localcluster.ControllerManager)
}

// stop ends the operator, then the control plane, and removes their files unless
// a place was given for them.
func (l *localRun) stop() error {
	if l.ended != nil {
		l.endOperator()
		<-l.ended
	}
	var errs []error
	if l.cluster != nil {
		errs = append(errs, l.cluster.Stop())
	}
	if l.isTemp {
		errs = append(errs, os.RemoveAll(l.dir))
	}
	return errors.Join(errs...)
}

// quotedLines is how much of the operator's log an error quotes.
const quotedLines = 20

func (l *localRun) logTail() string {
	content, err := os.ReadFile(l.operatorLog())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-quotedLines):], "\n")
}
