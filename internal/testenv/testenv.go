package testenv

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Config returns a rest.Config with all rights (system:masters). A test may change the copy that
// Config returns.
func Config(tb testing.TB) *rest.Config {
	tb.Helper()
	return Cluster(tb).Config()
}

// Kubeconfig returns the path of a kubeconfig with all rights (system:masters).
func Kubeconfig(tb testing.TB) string {
	tb.Helper()
	return Cluster(tb).Kubeconfig()
}

// As returns a configuration that acts as a user. The API server adds the group
// system:authenticated; the test grants all other rights.
func As(tb testing.TB, user string, groups ...string) *rest.Config {
	tb.Helper()
	config := Config(tb)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return config
}

// Client returns a client with all rights (system:masters) for the kinds of a runtime.Scheme. A nil
// scheme stands for scheme.Scheme of client-go, the built-in kinds.
func Client(tb testing.TB, scheme *runtime.Scheme) client.WithWatch {
	tb.Helper()
	config := Config(tb)
	return newClient(tb, config, client.Options{Scheme: scheme, Mapper: shared.kinds})
}

// ClientFor returns a client with a given configuration, such as that of [As].
func ClientFor(tb testing.TB, config *rest.Config, scheme *runtime.Scheme) client.WithWatch {
	tb.Helper()
	return newClient(tb, config, client.Options{Scheme: scheme})
}

func newClient(tb testing.TB, config *rest.Config, options client.Options) client.WithWatch {
	tb.Helper()
	c, err := client.NewWithWatch(config, options)
	if err != nil {
		tb.Fatalf("testenv: create a client: %v", err)
	}
	return c
}

// cleanupTimeout bounds the cleanup after a test.
const cleanupTimeout = 30 * time.Second

// Namespace creates a namespace for the test, named after the test, and waits for the
// ServiceAccount that Pods need there. The namespace is deleted after the test, without waiting
// for its end, unless [KeepNamespaces] keeps the namespace.
func Namespace(tb testing.TB) string {
	tb.Helper()
	c := Client(tb, nil)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: namespacePrefix(tb.Name())}}
	if err := c.Create(tb.Context(), namespace); err != nil {
		tb.Fatalf("testenv: create a namespace: %v", err)
	}
	if !shared.keepNamespaces {
		tb.Cleanup(func() { deleteNamespace(tb, c, namespace) })
	}
	Eventually(tb, func() error {
		key := client.ObjectKey{Namespace: namespace.Name, Name: "default"}
		return c.Get(tb.Context(), key, &corev1.ServiceAccount{})
	})
	return namespace.Name
}

func deleteNamespace(tb testing.TB, c client.Client, namespace *corev1.Namespace) {
	tb.Helper()
	// The test's own context ends before its cleanup.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), cleanupTimeout)
	defer cancel()
	if err := c.Delete(ctx, namespace); client.IgnoreNotFound(err) != nil {
		tb.Errorf("testenv: delete namespace %s: %v", namespace.Name, err)
	}
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// namespacePrefix turns a test's name into the beginning of a namespace's name, with room for
// the characters that make the name unique.
func namespacePrefix(test string) string {
	const longest = 50
	name := notInNames.ReplaceAllString(strings.ToLower(test), "-")
	name = strings.Trim(name[:min(len(name), longest)], "-")
	return name + "-"
}

const (
	eventuallyFirst   = 10 * time.Millisecond
	eventuallyLast    = 100 * time.Millisecond
	eventuallyTimeout = time.Minute
)

// Eventually calls try until try returns nil. After 1 minute without a success, Eventually fails
// the test with the last error. The minute is for slow machines: a passing test returns at once.
// The pauses grow (eventually), since each call of try takes processor time from the awaited work.
func Eventually(tb testing.TB, try func() error) {
	tb.Helper()
	EventuallyWithin(tb, eventuallyTimeout, try)
}

// EventuallyWithin is [Eventually] with another limit.
func EventuallyWithin(tb testing.TB, timeout time.Duration, try func() error) {
	tb.Helper()
	// tb.Context() has already ended when a t.Cleanup calls Eventually.
	if err := eventually(context.WithoutCancel(tb.Context()), Cluster(tb).Done(), timeout, try); err != nil {
		if broken := Cluster(tb).Err(); broken != nil {
			err = fmt.Errorf("%w: %w", err, broken)
		}
		tb.Fatalf("testenv: %v", err)
	}
}

var errControlPlane = errors.New("the control plane is gone")

// eventually stops early when the control plane has ended: waiting a minute per test would hide
// the reason.
func eventually(ctx context.Context, gone <-chan struct{}, timeout time.Duration, try func() error) error {
	pause := eventuallyFirst
	next := time.NewTimer(pause)
	defer next.Stop()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select { // Below, chance would decide between this and a timer that is due as well.
		case <-gone:
			return fmt.Errorf("%w: %w", errControlPlane, err)
		default:
		}
		next.Reset(pause)
		pause = min(pause*3/2, eventuallyLast)
		select {
		case <-next.C:
		case <-deadline.C:
			return fmt.Errorf("not within %s: %w", timeout, err)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-gone:
			return fmt.Errorf("%w: %w", errControlPlane, err)
		}
	}
}
