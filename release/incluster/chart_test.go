package incluster_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/internal/uninstall"
	"github.com/kinship-dev/kinship/release/chart"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestChart installs the chart with all packs, and runs two replicas. One replica is the leader, and both
// answer admission requests. If the leader is killed, the other replica refuses deletions at once and
// becomes the leader. A `helm upgrade` changes nothing for users.
func TestChart(t *testing.T) {
	namespace(t)
	text := manifests(t, map[string]any{"packs": allPacks()})
	testenv.Apply(t, text)
	t.Run("Pods of the profile restricted", testPods)
	withoutPods(t)

	var deployment appsv1.Deployment
	err := operator.Client(t).Get(t.Context(), deploymentKey, &deployment)
	if err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	config, args := kubeconfig(t, pod.ServiceAccountName), pod.Containers[0].Args
	replicas := []*replica{startReplica(t, "first", config, args), startReplica(t, "second", config, args)}
	for _, r := range replicas {
		if !strings.Contains(r.Log(), "user="+options.OperatorOf("usage")) {
			t.Error("a replica does not act as the accounts of the packs")
		}
	}
	t.Run("protection", testProtection)
	t.Run("an upgrade of the chart", func(t *testing.T) { testUpgrade(t, text) })
	t.Run("the leader is killed", func(t *testing.T) { testLeaderKilled(t, replicas) })
	for _, r := range replicas {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	}
	removeAll(t, text)
}

// usageByPolicy are values of deletion protection alone, without webhooks.
const usageByPolicy = `{
	"enforcement": "policy", "replicas": 1,
	"packs": {"openstack": {"enabled": false}, "iot": {"enabled": false}, "oam": {"enabled": false},
		"azure": {"enabled": false}}
}`

// TestChartByPolicy installs one pack with enforcement by policy: the API server calls no webhook.
func TestChartByPolicy(t *testing.T) {
	namespace(t)
	var values map[string]any
	if err := json.Unmarshal([]byte(usageByPolicy), &values); err != nil {
		t.Fatal(err)
	}
	text := manifests(t, values)
	testenv.Apply(t, text)
	var deployment appsv1.Deployment
	err := operator.Client(t).Get(t.Context(), deploymentKey, &deployment)
	if err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	args := append(slices.Clone(pod.Containers[0].Args), "--kubeconfig", kubeconfig(t, pod.ServiceAccountName),
		"--metrics-bind-address", "0")
	process := operator.ExecArgs(t, args...)
	c := operator.Client(t)
	precious, usage := protect(t)
	if err := c.Delete(t.Context(), precious); !apierrors.IsForbidden(err) {
		t.Errorf("the deletion was answered with %v, want a refusal", err)
	}
	if err := c.Delete(t.Context(), usage); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { return c.Delete(t.Context(), precious) })
	if err := process.Stop(); err != nil {
		t.Error(err)
	}
	removeAll(t, text)
}

// uninstall follows docs/uninstall.md: first `kinship uninstall`, then the deletions of `helm uninstall`.
// Afterwards no object of the chart exists.
func removeAll(t *testing.T, text string) {
	t.Helper()
	o := options.Options{Config: testenv.Config(t), Log: logr.Discard()}
	err := uninstall.Uninstall(t.Context(), o, uninstall.Options{
		WithObjects: true, ForceLive: true, // A killed operator counts as running for a while.
		Say: func(string, ...any) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := operator.Client(t)
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		err = c.Get(t.Context(), client.ObjectKeyFromObject(u), u.DeepCopy())
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue
		}
		switch u.GetKind() {
		case "Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy":
		default:
			t.Errorf("kinship uninstall left %s %s", u.GetKind(), u.GetName())
		}
		if err := c.Delete(t.Context(), u); err != nil {
			t.Error(err)
		}
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: chart.Namespace}}
	if err := c.Delete(t.Context(), ns); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	testenv.EventuallyWithin(t, time.Minute, func() error {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(ns), ns)
		if err == nil {
			return fmt.Errorf("namespace %s still exists", ns.Name)
		}
		return client.IgnoreNotFound(err)
	})
}

// testPods: the ReplicaSet creates its Pods in a namespace that enforces the profile restricted.
func testPods(t *testing.T) {
	t.Helper()
	testenv.Eventually(t, func() error {
		var pods corev1.PodList
		if err := operator.Client(t).List(t.Context(), &pods, client.InNamespace(chart.Namespace)); err != nil {
			return err
		}
		if len(pods.Items) != 2 {
			return fmt.Errorf("there are %d Pods, want 2", len(pods.Items))
		}
		return nil
	})
	// The namespace does enforce the profile: a Pod without the settings is refused.
	const loose = "{apiVersion: v1, kind: Pod, metadata: {name: loose}, spec: {containers: [{name: c, image: i}]}}"
	_, err := testenv.TryApply(t, loose, testenv.In(chart.Namespace))
	if !apierrors.IsForbidden(err) {
		t.Errorf("a Pod without the settings of the profile is answered with %v", err)
	}
}

// protect creates a protected object, and returns the object and its Usage.
func protect(t *testing.T) (precious, usage *unstructured.Unstructured) {
	t.Helper()
	in := testenv.Namespace(t)
	var objects []*unstructured.Unstructured
	testenv.EventuallyWithin(t, time.Minute, func() error { // The API server does not know the endpoints yet.
		var err error
		objects, err = testenv.TryApply(t, operator.Protected, testenv.In(in))
		return err
	})
	testenv.EventuallyWithin(t, time.Minute, func() error { return isReady(t, objects[1]) })
	return objects[0], objects[1]
}

// refused waits until the deletion of a protected object is refused: the API server may call a replica that was
// killed, or a path of before, for a moment. The object is never deleted.
func refused(t *testing.T, precious client.Object) {
	t.Helper()
	testenv.Eventually(t, func() error {
		err := operator.Client(t).Delete(t.Context(), precious)
		if err == nil {
			t.Fatal("a protected object was deleted")
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		return nil
	})
}

// testProtection: a protected object is refused, and can be deleted after its Usage.
func testProtection(t *testing.T) {
	c := operator.Client(t)
	precious, usage := protect(t)
	err := c.Delete(t.Context(), precious)
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "it is precious") {
		t.Errorf("the deletion was answered with %v, want a refusal with the reason", err)
	}
	if err := c.Delete(t.Context(), usage); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { return c.Delete(t.Context(), precious) })
}

// testUpgrade applies the chart again, which removes the secret paths from the webhook configurations.
// The operator writes the paths again, and until then no protected object can be deleted.
func testUpgrade(t *testing.T, text string) {
	t.Helper()
	c := operator.Client(t)
	precious, usage := protect(t)
	testenv.Apply(t, text)
	withoutPods(t)
	refused(t, precious)
	var hooks admissionregistrationv1.ValidatingWebhookConfiguration
	if err := c.Get(t.Context(), client.ObjectKey{Name: "crossplane-no-usages"}, &hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks.Webhooks[0].ClientConfig.CABundle) == 0 {
		t.Error("the webhook configuration has no CA")
	}
	if err := c.Delete(t.Context(), usage); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { return c.Delete(t.Context(), precious) })
}

// failover is the time within which the other replica must become the leader.
const failover = 20 * time.Second

// testLeaderKilled: the follower refuses deletions at once, and allows the deletion of an object without
// a Usage within failover of the kill.
func testLeaderKilled(t *testing.T, replicas []*replica) {
	t.Helper()
	c := operator.Client(t)
	leader, follower := replicas[0], replicas[1]
	if leads(follower) {
		leader, follower = follower, leader
	}
	if !leads(leader) || leads(follower) {
		t.Fatal("not one replica leads")
	}
	holder := leaseHolder(t)
	precious, usage := protect(t)
	killed := time.Now()
	leader.kill(t)
	refused(t, precious)
	t.Logf("the follower refused after %s", time.Since(killed).Round(time.Millisecond))
	if err := c.Delete(t.Context(), usage); err != nil {
		t.Fatal(err)
	}
	testenv.EventuallyWithin(t, time.Until(killed.Add(failover)), func() error { return c.Delete(t.Context(), precious) })
	t.Logf("the follower released after %s", time.Since(killed).Round(time.Millisecond))
	if leaseHolder(t) == holder {
		t.Error("the killed replica still holds the Lease")
	}
}

// leads reports whether a replica runs the controllers.
func leads(r *replica) bool { return strings.Contains(strings.ToLower(r.Log()), "acquired lease") }

func leaseHolder(t *testing.T) string {
	t.Helper()
	var lease coordinationv1.Lease
	err := operator.Client(t).Get(t.Context(), client.ObjectKey{Namespace: chart.Namespace, Name: "kinship"}, &lease)
	if err == nil && lease.Spec.HolderIdentity == nil {
		err = errors.New("the Lease has no holder")
	}
	if err != nil {
		t.Fatal(err)
	}
	return *lease.Spec.HolderIdentity
}
