package localcluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// startAttempts bounds how often lost ports are replaced.
const startAttempts = 3

// Start runs a control plane and returns when it is of use: every program is
// ready, the default namespace has its service account, and pods have a node.
//
// The context and [Options.StartTimeout] bound the start. The control plane then
// runs until [Cluster.Stop], or until this program ends in whatever way.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	binDir, err := findBinDir(opts.BinDir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.startTimeout())
	defer cancel()
	cluster, err := withFreshPorts(func() (*Cluster, error) { return startOnce(ctx, binDir, opts) })
	if err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	return cluster, nil
}

// withFreshPorts starts again when a port was lost: each start picks its own.
func withFreshPorts(start func() (*Cluster, error)) (*Cluster, error) {
	for attempt := 1; ; attempt++ {
		cluster, err := start()
		if err == nil || attempt == startAttempts || !isPortClash(err) {
			return cluster, err
		}
	}
}

// isPortClash recognises a port that was taken between finding and using it. All
// programs quote the kernel's words in their logs, and nothing else tells.
func isPortClash(err error) bool { return strings.Contains(err.Error(), "address already in use") }

func startOnce(ctx context.Context, binDir string, opts Options) (*Cluster, error) {
	dir, lock, err := openDataDir(opts.DataDir)
	if err != nil {
		return nil, err
	}
	line, err := newLifeline()
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	c := &Cluster{
		binDir: binDir, dir: dir, isTemp: opts.DataDir == "", lock: lock, line: line,
		processes: map[string]*process{}, done: make(chan struct{}),
	}
	if err := c.start(ctx, opts); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, opts Options) error {
	if err := c.prepare(ctx, opts); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	store, server, workers := c.layers[0], c.layers[1], c.layers[2]
	if err := c.runAll(ctx, append(store, server...)...); err != nil {
		return err
	}
	if opts.BeforeControllers != nil {
		if err := opts.BeforeControllers(ctx, c.Config()); err != nil {
			return fmt.Errorf("before the controllers: %w", err)
		}
	}
	if !opts.WithoutPods {
		if err := createNode(ctx, client); err != nil {
			return err
		}
	}
	if err := c.runAll(ctx, workers...); err != nil {
		return err
	}
	return awaitUseful(ctx, client, opts)
}

// prepare writes the files that component.args name: certificates, kubeconfigs and the stages of
// kwok.
func (c *Cluster) prepare(ctx context.Context, opts Options) error {
	ports, err := freePorts(opts.Port)
	if err != nil {
		return err
	}
	p := plan{dir: c.dir, ports: ports}
	c.layers = p.layers(opts)
	if err := writePKI(c.dir); err != nil {
		return err
	}
	if err := writeKubeconfigs(p); err != nil {
		return err
	}
	if err := writeStages(ctx, c.binDir, c.dir); err != nil {
		return err
	}
	if c.probe, err = newProber(c.dir); err != nil {
		return err
	}
	c.config, err = adminConfig(c.dir)
	return err
}

// runAll starts components together and waits until all are ready. The first
// failure ends the wait for the others.
func (c *Cluster) runAll(ctx context.Context, parts ...component) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		group.Go(func() error { return c.run(ctx, part) })
	}
	return group.Wait()
}

func createNode(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().Nodes().Create(ctx, node(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the node: %w", err)
	}
	return nil
}

// awaitUseful waits for what the controllers make of an empty cluster, and what
// the first object of a user needs.
func awaitUseful(ctx context.Context, client kubernetes.Interface, opts Options) error {
	err := poll(ctx, func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for the default service account: %w", err)
	}
	if opts.WithoutPods {
		return nil
	}
	err = poll(ctx, func(ctx context.Context) error {
		node, err := client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err == nil && len(node.Spec.Taints) > 0 {
			return fmt.Errorf("taint %s keeps pods away", node.Spec.Taints[0].Key)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for node %s: %w", nodeName, err)
	}
	return nil
}
