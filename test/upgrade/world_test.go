package upgrade_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	azure "github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	openstack "github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/story"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	// previousVar is the environment variable with the path of the older operator.
	previousVar = "KINSHIP_PREVIOUS"
	// stories is the namespace of the examples.
	stories = "kinship-stories"
	// takeover is how long a replica may take until it leads, on a busy machine.
	takeover = time.Minute
)

// world is a cluster with clouds, in which operators of all packs run.
type world struct {
	t         *testing.T
	c         client.WithWatch
	openstack *openstack.Server
	azure     *azure.Server
	previous  string // Empty for this program.
	port      string // Of the webhooks.
}

func newWorld(t *testing.T) *world {
	t.Helper()
	resources, err := azure.Start(azure.Options{RetryAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resources.Close() }) // The data of the emulator is not needed any more.
	w := &world{
		t: t, c: operator.Client(t), openstack: operator.Cloud(t, openstack.Options{}), azure: resources,
		previous: os.Getenv(previousVar), port: strconv.Itoa(testenv.FreePort(t)),
	}
	t.Logf("the older operator is %q, the cluster is %s", cmp.Or(w.previous, "this one"), w.version())
	return w
}

// version is the version of Kubernetes.
func (w *world) version() string {
	w.t.Helper()
	out, err := exec.Command(filepath.Join(testenv.Cluster(w.t).BinDir(), localcluster.APIServer), "--version").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// args are the flags of an operator.
func (w *world) args() []string {
	return []string{
		"--leader-elect", "--webhook-port", w.port, "--openstack-open-cidrs", "127.0.0.0/8",
		"--azure-endpoint", w.azure.URL(), "--azure-credential", "none", "--azure-subscription", story.AzureSubscription,
	}
}

// older starts the older operator, with all packs. The newer operator goes on with these.
func (w *world) older() *operator.Process {
	w.t.Helper()
	if w.previous == "" {
		return operator.Exec(w.t, append(w.args(), "--packs", "usage,iot,openstack,oam,azure")...)
	}
	return operator.ExecProgram(w.t, w.previous, w.args()...)
}

// newer starts this operator.
func (w *world) newer() *operator.Process {
	w.t.Helper()
	return operator.Exec(w.t, w.args()...)
}

// populate applies the examples of all packs, and protected ConfigMaps.
func (w *world) populate() {
	w.t.Helper()
	stage, err := story.NewStage(testenv.Config(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, clouds := w.t.Context(), w.openstack.CloudsYAML()
	for _, do := range []func() error{
		func() error { return story.EnableAzure(ctx, testenv.Config(w.t)) },
		func() error { return story.Define(ctx, stage, clouds) },
		func() error { return story.Leave(ctx, stage, clouds) },
	} {
		testenv.EventuallyWithin(w.t, 3*time.Minute, do) // A busy machine may answer for a webhook too late.
	}
	for i := range kept {
		w.protect(keptName(i))
	}
	for _, one := range []struct{ kind, name string }{
		{"ResourceGroup", "shop"}, {"VirtualMachineScaleSet", ""}, {"Deployment", "website"},
	} {
		w.awaitKind(one.kind, one.name)
	}
}

// awaitKind waits until the objects of a kind of the examples, or one of them, are Ready or available.
func (w *world) awaitKind(kind, name string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		for key, u := range w.objects() {
			if u.GetKind() != kind || name != "" && u.GetName() != name {
				continue
			}
			if err := isSettled(u); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			return nil
		}
		return fmt.Errorf("there is no %s %s", kind, name)
	})
}

// isSettled returns nil if a condition of an object says that the present generation is done.
func isSettled(u *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		switch condition["type"] {
		case "Ready", "Available", "Synced":
			seen, found := condition["observedGeneration"].(int64)
			if !found {
				seen, _, _ = unstructured.NestedInt64(u.Object, "status", "observedGeneration")
			}
			if condition["status"] == "True" && seen >= u.GetGeneration() {
				return nil
			}
		}
	}
	return fmt.Errorf("generation %d, conditions %v", u.GetGeneration(), conditions)
}

// kept is the number of ConfigMaps that clients try to delete.
const kept = 10

func keptName(i int) string { return fmt.Sprintf("kept-%d", i) }

const protected = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s}}
---
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: {name: %[1]s}
spec:
  of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: %[1]s}}
  reason: it is precious
`

// olderWarns excuses a warning: the older operator gives Usages a finalizer whose name has no path.
var olderWarns = testenv.Warned("usage.apiextensions.crossplane.io")

// protect creates a ConfigMap and its Usage, and waits until the ConfigMap is protected.
func (w *world) protect(name string) {
	w.t.Helper()
	var objects []*unstructured.Unstructured
	testenv.Eventually(w.t, func() error { // The API server may call the operator of before for a moment.
		var err error
		objects, err = testenv.TryApply(w.t, fmt.Sprintf(protected, name), testenv.In(stories), olderWarns)
		return err
	})
	testenv.Eventually(w.t, func() error {
		if err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(objects[1]), objects[1]); err != nil {
			return err
		}
		return isSettled(objects[1])
	})
}

// release deletes the Usage of a ConfigMap, and then the ConfigMap.
func (w *world) release(name string) {
	w.t.Helper()
	usage := &unstructured.Unstructured{}
	usage.SetAPIVersion("protection.crossplane.io/v1beta1")
	usage.SetKind("Usage")
	usage.SetNamespace(stories)
	usage.SetName(name)
	if err := w.c.Delete(w.t.Context(), usage); err != nil {
		w.t.Fatal(err)
	}
	testenv.Eventually(w.t, func() error {
		return w.c.Delete(w.t.Context(), configMap(name))
	})
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: stories, Name: name}}
}

// leader returns the holder of the Lease of the leader election.
func (w *world) leader() string {
	w.t.Helper()
	var lease coordinationv1.Lease
	if err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: options.Namespace, Name: "kinship"}, &lease); err != nil {
		w.t.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// replace stops an operator, and starts another at the same address. In between, the API server refuses
// deletions of protected objects because no webhook answers.
func (w *world) replace(old *operator.Process, start func() *operator.Process) *operator.Process {
	w.t.Helper()
	before := w.leader()
	if err := old.Stop(); err != nil {
		w.t.Errorf("the operator that was replaced: %v", err)
	}
	next := start()
	testenv.EventuallyWithin(w.t, takeover, func() error {
		if now := w.leader(); now == "" || now == before {
			return fmt.Errorf("the Lease is held by %q", now)
		}
		return nil
	})
	return next
}

// refusals counts what the API server answers to deletions of protected objects.
type refusals struct {
	mu      sync.Mutex
	refused int
	failed  []error
}

// attack deletes protected ConfigMaps, and their namespace in a dry run, until stop is called.
func (w *world) attack() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var got refusals
	var clients sync.WaitGroup
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: stories}}
	for _, try := range []func(i int) error{
		func(i int) error {
			return w.c.Delete(ctx, configMap(keptName(i%kept)))
		},
		func(int) error { return w.c.Delete(ctx, ns.DeepCopy(), client.DryRunAll) },
	} {
		clients.Go(func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ctx.Err() == nil; i++ {
				if err := try(i); ctx.Err() == nil {
					got.add(w.t, err)
				}
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		})
	}
	testenv.Eventually(w.t, func() error { // Both have been refused, and what refusals write is written.
		got.mu.Lock()
		defer got.mu.Unlock()
		if got.refused < 4*kept {
			return fmt.Errorf("%d refusals, %w", got.refused, errors.Join(got.failed...))
		}
		return nil
	})
	return func() {
		cancel()
		clients.Wait()
		w.t.Logf("%d deletions were refused by the operator, %d because it did not run", got.refused, len(got.failed))
		for _, err := range got.failed {
			if !strings.Contains(err.Error(), `webhook "nousages.`) { // No answer, or a refusal because a read took too long.
				w.t.Errorf("a deletion was answered with %v", err)
			}
		}
	}
}

func (r *refusals) add(t *testing.T, err error) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		t.Error("a protected object was deleted")
	case apierrors.IsConflict(err):
		r.refused++
	default:
		r.failed = append(r.failed, err)
	}
}
