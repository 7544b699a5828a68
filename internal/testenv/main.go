package testenv

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinship-dev/kinship/internal/localcluster"
)

// Option changes the environment that [Main] prepares.
type Option func(*environment)

// CRDs installs the CustomResourceDefinitions in YAML files, or directories of
// them, before the controllers start. The garbage collector and the namespace
// controller then know the kinds from the first test on; kinds that a test adds
// later, they learn of within 30 seconds, or at once when the test restarts
// [localcluster.ControllerManager].
func CRDs(paths ...string) Option {
	return func(e *environment) { e.crds = append(e.crds, paths...) }
}

// TemporaryCRDs is [CRDs] for a folder that is removed after the tests.
func TemporaryCRDs(folder string) Option {
	return func(e *environment) {
		e.crds = append(e.crds, folder)
		e.temporary = append(e.temporary, folder)
	}
}

// GroupCRDs is [CRDs] for the kinds of some API groups: the files of a directory whose names begin with a
// group, such as core.oam.dev_components.yaml. A package that needs one pack installs the kinds of that
// pack alone: the API server compiles the rules of each kind, the garbage collector watches each kind, and
// the deletion of each namespace lists each kind.
func GroupCRDs(directory string, groups ...string) Option {
	return func(e *environment) {
		for _, group := range groups {
			pattern := filepath.Join(directory, group+"_*.yaml")
			files, err := filepath.Glob(pattern)
			if err != nil || len(files) == 0 {
				files = []string{pattern} // Its absence fails the start.
			}
			e.crds = append(e.crds, files...)
		}
	}
}

// WithoutPods leaves out the scheduler and kwok: the start is faster, and pods
// stay Pending.
func WithoutPods() Option {
	return func(e *environment) { e.options.WithoutPods = true }
}

// ControlPlane changes the options of the control plane in any other way.
func ControlPlane(change func(*localcluster.Options)) Option {
	return func(e *environment) { change(&e.options) }
}

// KeepNamespaces leaves the namespaces of tests until the control plane stops, for packages whose
// tests delete their own objects. To delete a namespace, the API server lists and deletes
// objects of each kind: 150 requests, more than most tests of such a package send.
func KeepNamespaces() Option {
	return func(e *environment) { e.keepNamespaces = true }
}

// CheckLeaks makes the test binary fail if goroutines are left when all tests
// have passed and the control plane has stopped.
func CheckLeaks(opts ...goleak.Option) Option {
	return func(e *environment) {
		e.findLeaks = func() error { return goleak.Find(opts...) }
	}
}

// environment is shared by the tests of one binary.
type environment struct {
	options   localcluster.Options
	crds      []string
	temporary []string // folders to remove
	findLeaks func() error

	keepNamespaces bool

	start   sync.Once
	cluster *localcluster.Cluster
	// kinds is the RESTMapper of all tests, so that discovery is read once for each test binary.
	kinds meta.RESTMapper
	err   error
}

// shared is set by [Main] and only read afterwards.
var shared *environment

// Main runs the tests and exits: a package's TestMain calls Main and nothing else. The control
// plane starts when the first test needs it, so a run of plain unit tests starts none.
func Main(m *testing.M, opts ...Option) {
	flag.Parse() // For Verbose, which Run would otherwise make known too late.
	logToStderr()
	shared = newEnvironment(opts...)
	code := m.Run()
	os.Exit(shared.finish(code, os.Stderr))
}

// logToStderr logs controllers' messages: all with -v, else only warnings. Without a logger,
// controller-runtime prints a complaint.
func logToStderr() {
	level := slog.LevelWarn
	if testing.Verbose() {
		level = slog.LevelInfo
	}
	handler := slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})
	log.SetLogger(logr.FromSlogHandler(handler))
}

// startTimeout is for two control planes that start at once on a machine that also
// compiles.
const startTimeout = 3 * time.Minute

func newEnvironment(opts ...Option) *environment {
	e := &environment{}
	e.options.StartTimeout = startTimeout
	for _, opt := range opts {
		opt(e)
	}
	if len(e.crds) > 0 {
		e.options.BeforeControllers = func(ctx context.Context, config *rest.Config) error {
			return installCRDs(ctx, config, e.crds)
		}
	}
	return e
}

// running calls localcluster.Start once. A failure is final: another attempt would cost every test
// the same wait.
func (e *environment) running(ctx context.Context) (*localcluster.Cluster, error) {
	e.start.Do(func() {
		if e.cluster, e.err = localcluster.Start(ctx, e.options); e.err == nil {
			e.kinds, e.err = kindsOf(e.cluster.Config())
		}
	})
	return e.cluster, e.err
}

func kindsOf(config *rest.Config) (meta.RESTMapper, error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return apiutil.NewDynamicRESTMapper(config, transport)
}

// finish calls localcluster.Cluster.Stop and returns the exit code of the test binary. An error of
// Stop, or a leaked goroutine, turns code 0 into 1.
func (e *environment) finish(code int, out io.Writer) int {
	fail := func(doing string, err error) {
		if err == nil {
			return
		}
		code = max(code, 1)
		_, _ = fmt.Fprintf(out, "testenv: %s: %v\n", doing, err) // There is nowhere to report a failed write.
	}
	if e.cluster != nil {
		fail("control plane", e.cluster.Err())
		fail("stop", e.cluster.Stop())
	}
	for _, folder := range e.temporary {
		fail("remove", os.RemoveAll(folder))
	}
	// A failed test may have skipped its t.Cleanup, so goleak is only asked after a success.
	if e.findLeaks != nil && code == 0 {
		fail("leaks", e.findLeaks())
	}
	return code
}

// Cluster returns the control plane itself, for tests that pause or restart its
// programs.
func Cluster(tb testing.TB) *localcluster.Cluster {
	tb.Helper()
	if shared == nil {
		tb.Fatal("testenv: the package's TestMain must call testenv.Main")
	}
	cluster, err := shared.running(tb.Context())
	if err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	return cluster
}
