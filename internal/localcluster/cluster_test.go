package localcluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// parentVar makes this test binary a mere parent of a control plane; see
// orphan_test.go.
const parentVar = "KINSHIP_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVar) != "" {
		beParent()
	}
	goleak.VerifyTestMain(m)
}

var programs = []string{Etcd, APIServer, ControllerManager, Scheduler, Kwok}

// start runs a control plane for one test, which must end without a trace.
func start(t *testing.T, opts Options) *Cluster {
	t.Helper()
	begin := time.Now()
	c, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %s", time.Since(begin).Round(time.Millisecond))
	t.Cleanup(func() {
		begin := time.Now()
		if err := c.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
		t.Logf("stopped after %s", time.Since(begin).Round(time.Millisecond))
	})
	return c
}

func clientOf(t *testing.T, c *Cluster) kubernetes.Interface {
	t.Helper()
	config := c.Config()
	config.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func eventually(t *testing.T, try func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second) // After a restart watches come back late.
	defer cancel()
	if err := poll(ctx, try); err != nil {
		t.Fatal(err)
	}
}

func createConfigMap(
	t *testing.T, client kubernetes.Interface, name string, owners ...metav1.OwnerReference,
) *corev1.ConfigMap {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}
	object, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// TestWhole shows in one control plane that every program of it works.
func TestWhole(t *testing.T) {
	c := start(t, Options{})
	client := clientOf(t, c)

	t.Run("kubeconfig is private", func(t *testing.T) {
		info, err := os.Stat(c.Kubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(os.FileMode(0o600), info.Mode()); diff != "" {
			t.Errorf("mode (-want +got):\n%s", diff)
		}
	})
	t.Run("scheduler and kwok make a Deployment available", func(t *testing.T) {
		createDeployment(t, client, "web", 2)
		eventually(t, func(ctx context.Context) error { return available(ctx, client, "web", 2) })
	})
	t.Run("the garbage collector removes what lost its owner", func(t *testing.T) {
		owner := createConfigMap(t, client, "owner")
		createConfigMap(t, client, "owned", metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID,
		})
		deleteConfigMap(t, client, "owner")
		eventually(t, func(ctx context.Context) error { return gone(ctx, client, "owned") })
	})
	t.Run("a paused API server hangs and goes on", func(t *testing.T) { testPause(t, c, client) })
	t.Run("a restarted API server keeps data, address and clients", func(t *testing.T) { testRestart(t, c, client) })
	t.Run("a restarted controller manager works", func(t *testing.T) {
		if err := c.Restart(t.Context(), ControllerManager); err != nil {
			t.Fatal(err)
		}
		createDeployment(t, client, "later", 1)
		eventually(t, func(ctx context.Context) error { return available(ctx, client, "later", 1) })
	})
	t.Run("all that is whole so far", func(t *testing.T) {
		if err := c.Err(); err != nil {
			t.Error(err)
		}
	})
	t.Run("stop leaves nothing", func(t *testing.T) { testStop(t, c) })
}

func testPause(t *testing.T, c *Cluster, client kubernetes.Interface) {
	t.Helper()
	if err := c.Pause(t.Context(), APIServer); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{}); err == nil {
		t.Error("a paused API server answered")
	}
	if err := c.Resume(APIServer); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		_, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

func testRestart(t *testing.T, c *Cluster, client kubernetes.Interface) {
	t.Helper()
	createConfigMap(t, client, "kept")
	before := c.PID(APIServer)
	begin := time.Now()
	if err := c.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("restarted after %s", time.Since(begin).Round(time.Millisecond))
	if c.PID(APIServer) == before {
		t.Error("the API server is still the same process")
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	createDeployment(t, client, "after", 1)
	eventually(t, func(ctx context.Context) error { return available(ctx, client, "after", 1) })
}

func testStop(t *testing.T, c *Cluster) {
	t.Helper()
	pids := map[string]int{}
	for _, name := range programs {
		pids[name] = c.PID(name)
	}
	// The hardest case: a paused process takes no request to end.
	if err := c.Pause(t.Context(), Scheduler); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	for name, pid := range pids {
		if pid == 0 || isRunning(pid) {
			t.Errorf("%s: process %d before Stop, still there: %t", name, pid, isRunning(pid))
		}
	}
	if _, err := os.Stat(c.DataDir()); !os.IsNotExist(err) {
		t.Errorf("the data directory is still there: %v", err)
	}
	select {
	case <-c.Done():
	default:
		t.Error("Done is not closed")
	}
	if err := c.Err(); err != nil {
		t.Errorf("Err after a plain Stop: %v", err)
	}
	if err := c.Restart(t.Context(), Etcd); err == nil {
		t.Error("a stopped control plane started a process")
	}
}

// TestDataDir: a given directory is kept after Stop, and two control planes cannot share a
// directory.
func TestDataDir(t *testing.T) {
	opts := Options{DataDir: t.TempDir(), WithoutPods: true}
	called := false
	opts.BeforeControllers = func(context.Context, *rest.Config) error {
		called = true
		if _, err := os.Stat(layout(opts.DataDir).log(ControllerManager)); !os.IsNotExist(err) {
			t.Errorf("the controller manager was started before: %v", err)
		}
		return nil
	}
	first := start(t, opts)
	if !called {
		t.Error("BeforeControllers was not called")
	}
	opts.BeforeControllers = nil // The log of the first start is still there at the second.
	createConfigMap(t, clientOf(t, first), "kept")
	if _, err := Start(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second Start in the same directory: %v", err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}

	second := start(t, opts)
	_, err := clientOf(t, second).CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil {
		t.Error(err)
	}
	if pid := second.PID(Kwok); pid != 0 {
		t.Errorf("kwok runs as %d although it was left out", pid)
	}
}

// TestUnexpectedExit shows that a crash is told, with its reason.
func TestUnexpectedExit(t *testing.T) {
	c := start(t, Options{WithoutPods: true})
	if err := syscall.Kill(c.PID(ControllerManager), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("Done is not closed")
	}
	for _, want := range []string{ControllerManager, "signal: killed", c.DataDir()} {
		if !strings.Contains(fmt.Sprint(c.Err()), want) {
			t.Errorf("error does not mention %q: %v", want, c.Err())
		}
	}
}

func createDeployment(t *testing.T, client kubernetes.Interface, name string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
			},
		},
	}
	_, err := client.AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func available(ctx context.Context, client kubernetes.Interface, name string, replicas int32) error {
	deployment, err := client.AppsV1().Deployments("default").Get(ctx, name, metav1.GetOptions{})
	if err == nil && deployment.Status.AvailableReplicas != replicas {
		return fmt.Errorf("deployment %s has %d of %d replicas", name, deployment.Status.AvailableReplicas, replicas)
	}
	return err
}

func deleteConfigMap(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func gone(ctx context.Context, client kubernetes.Interface, name string) error {
	_, err := client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		return fmt.Errorf("config map %s is still there", name)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
