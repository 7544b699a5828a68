package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
	"github.com/kinship-dev/kinship/internal/localcluster"
)

// operatorAccount is the only user who may remove lockLabel.
const operatorAccount = "system:serviceaccount:kinship-system:kinship-usage"

// localRun is a control plane on this machine, with an operator process.
type localRun struct {
	cluster  *localcluster.Cluster
	operator *gauge.Operator
	dir      string
	isTemp   bool
}

// startLocal starts the control plane and the operator, and sets options.kubeconfig and the process
// IDs. If a process ends too early, startLocal calls cancel with the reason.
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
	if err := l.operate(ctx, o, cancel); err != nil {
		return nil, err
	}
	o.operatorPID = l.operator.PID
	if o.stripAs == "" {
		o.stripAs = operatorAccount
	}
	return l, l.awaitInstalled(ctx, o)
}

// operate starts the operator. If the operator ends before Operator.Stop, cancel is called.
func (l *localRun) operate(ctx context.Context, o *options, cancel context.CancelCauseFunc) (err error) {
	args := append([]string{"--packs", "usage"}, o.operatorArgs...)
	l.operator, err = gauge.StartOperator(
		ctx, o.operatorBin, o.kubeconfig, filepath.Join(l.dir, "operator.log"), cancel, args...)
	return err
}

// restart ends the operator and starts it again, and returns the time of the start and the process
// ID.
func (l *localRun) restart(
	ctx context.Context, o *options, cancel context.CancelCauseFunc,
) (at time.Time, pid int, err error) {
	l.operator.Stop()
	at = time.Now()
	if err := l.operate(ctx, o, cancel); err != nil {
		return at, 0, err
	}
	return at, l.operator.PID, nil
}

// auditArgs returns the flags of kube-apiserver for an audit log.
func (l *localRun) auditArgs(o *options) (map[string][]string, error) {
	policy := filepath.Join(l.dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("write audit policy: %w", err)
	}
	o.auditLog = filepath.Join(l.dir, "audit.log")
	return map[string][]string{localcluster.APIServer: {
		"--audit-policy-file=" + policy,
		"--audit-log-path=" + o.auditLog,
		"--audit-log-maxsize=100000", // By default, a new file begins after 100 MB.
	}}, nil
}

// awaitInstalled waits until the API server serves the kind of Usage, and then restarts
// kube-controller-manager: its garbage collector would see a new kind only after 30 seconds.
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

// stop ends the operator and the control plane, and removes their files unless --data-dir is set.
func (l *localRun) stop() error {
	if l.operator != nil {
		l.operator.Stop()
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
