package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

// Cluster is a running control plane.
type Cluster struct {
	binDir string
	dir    layout
	isTemp bool
	config *rest.Config
	probe  prober
	line   lifeline
	lock   *os.File
	layers [][]component

	mu        sync.Mutex
	processes map[string]*process
	stopped   bool

	stopOnce sync.Once
	stopErr  error
	doneOnce sync.Once
	done     chan struct{}
	err      error
}

// Config returns a copy of a rest.Config for a client with all rights (system:masters) and without
// rate limit.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig returns the path of the admin's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.dir.kubeconfigOf(admin) }

// DataDir returns the directory that holds everything of this control plane.
func (c *Cluster) DataDir() string { return string(c.dir) }

// BinDir returns the directory its programs come from; kubectl is there too.
func (c *Cluster) BinDir() string { return c.binDir }

// Done is closed when the control plane is no longer whole: after [Cluster.Stop], or when a process
// ended unasked. A crash of kwok counts only after three restarts (component.restarts).
// [Cluster.Err] names the process.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// Err returns nil while the control plane is whole and after [Cluster.Stop]. If a process ended
// unasked, Err names the process and quotes the end of its log (process.failure).
func (c *Cluster) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// PID returns the process ID of a program, or 0 if the program does not run.
func (c *Cluster) PID(name string) int {
	p, err := c.process(name)
	if err != nil {
		return 0
	}
	select {
	case <-p.exited:
		return 0
	default:
		return p.cmd.Process.Pid
	}
}

// Pause freezes a program: its connections stay open without answers. Requests to a paused API
// server hang until their own timeout.
func (c *Cluster) Pause(ctx context.Context, name string) error {
	p, err := c.process(name)
	if err != nil {
		return err
	}
	if err := p.send(pause); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, gracePeriod)
	defer cancel()
	if err := poll(ctx, func(context.Context) error { return p.paused() }); err != nil {
		return fmt.Errorf("pause %s: %w", name, err)
	}
	return nil
}

// Resume lets a paused program go on.
func (c *Cluster) Resume(name string) error {
	p, err := c.process(name)
	if err != nil {
		return err
	}
	return p.send(resume)
}

// RestartAPIServer is Restart of the API server: watches break, the data and the
// address stay.
func (c *Cluster) RestartAPIServer(ctx context.Context) error { return c.Restart(ctx, APIServer) }

// Restart kills a program by SIGKILL, like a crash, starts the program again with the same
// arguments, and waits until it is ready. After a Restart of kube-controller-manager, the garbage
// collector knows kinds that were added after the start; see [Options.BeforeControllers].
func (c *Cluster) Restart(ctx context.Context, name string) error {
	old, err := c.process(name)
	if err != nil {
		return err
	}
	old.expectExit()
	if err := old.kill(); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	return c.run(ctx, old.component)
}

// Stop ends every process (process.stop), the last started first, and removes [Cluster.DataDir] if
// the directory is temporary. A second call of Stop returns the same result.
func (c *Cluster) Stop() error {
	c.stopOnce.Do(func() { c.stopErr = c.stop() })
	return c.stopErr
}

func (c *Cluster) stop() error {
	c.mu.Lock()
	c.stopped = true
	for _, p := range c.processes {
		p.expectExit()
	}
	c.mu.Unlock()

	var errs []error
	for _, layer := range slices.Backward(c.layers) {
		errs = append(errs, c.stopLayer(layer))
	}
	c.line.close()
	if c.isTemp {
		errs = append(errs, os.RemoveAll(string(c.dir)))
	}
	errs = append(errs, c.lock.Close())
	c.finish(nil)
	return errors.Join(errs...)
}

func (c *Cluster) stopLayer(layer []component) error {
	var group errgroup.Group
	for _, part := range layer {
		p, err := c.process(part.name)
		if err != nil {
			continue // Start failed before this component.
		}
		group.Go(p.stop)
	}
	return group.Wait()
}

// run starts a component (Cluster.launch) and waits until component.readyURL answers.
func (c *Cluster) run(ctx context.Context, part component) error {
	if err := c.launch(part); err != nil {
		return err
	}
	err := poll(ctx, func(ctx context.Context) error {
		p, err := c.process(part.name) // A new process after a crash.
		if err != nil {
			return final(err)
		}
		return p.ready(ctx, c.probe)
	})
	if err == nil || isFinal(err) {
		return err
	}
	log := c.dir.log(part.name)
	return fmt.Errorf("wait for %s to be ready: %w; the end of %s:\n%s", part.name, err, log, tail(log))
}

// ended starts a component again that crashed, or closes [Cluster.Done] when component.restarts is
// used up.
func (c *Cluster) ended(part component, reason error) {
	if part.restarts == 0 {
		c.finish(reason)
		return
	}
	part.restarts--
	if err := c.launch(part); err != nil {
		c.finish(errors.Join(reason, err))
	}
}

// launch starts a component unless [Cluster.Stop] was called: Stop would not end a process that is
// started later.
func (c *Cluster) launch(part component) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return fmt.Errorf("start %s: the control plane is stopped", part.name)
	}
	p, err := startProcess(part, c.binDir, c.dir, c.line, func(err error) { c.ended(part, err) })
	if err != nil {
		return err
	}
	c.processes[part.name] = p
	return nil
}

// finish closes [Cluster.Done] and sets the error of [Cluster.Err]. Only the first call has an
// effect: the first crash causes the later crashes.
func (c *Cluster) finish(reason error) {
	c.doneOnce.Do(func() {
		c.err = reason
		close(c.done)
	})
}

func (c *Cluster) process(name string) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.processes[name]
	if !ok {
		return nil, fmt.Errorf("%s is not part of this control plane", name)
	}
	return p, nil
}
