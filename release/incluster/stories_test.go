package incluster_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	azure "github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	openstack "github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/story"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/release/chart"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestStories installs the chart, and tells all stories of `kinship up --once`. The operator is a process
// that has the tokens of the chart's accounts alone. Enabling kinds of Azure is up to the administrator.
func TestStories(t *testing.T) {
	clouds := operator.Cloud(t, openstack.Options{}).CloudsYAML()
	resources, err := azure.Start(azure.Options{RetryAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resources.Close() }) // The data of the emulator is not needed any more.
	namespace(t)
	text := manifests(t, map[string]any{"packs": allPacks(), "extraArgs": []any{
		"--openstack-open-cidrs=127.0.0.0/8", "--azure-endpoint=" + resources.URL(), "--azure-credential=none",
		"--azure-subscription=" + story.AzureSubscription,
	}})
	testenv.Apply(t, text)
	testPods(t)
	withoutPods(t)
	var deployment appsv1.Deployment
	if err := operator.Client(t).Get(t.Context(), deploymentKey, &deployment); err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	r := startReplica(t, "only", kubeconfig(t, pod.ServiceAccountName), pod.Containers[0].Args)
	stage, err := story.NewStage(testenv.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := story.EnableAzure(t.Context(), testenv.Config(t)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { return story.Define(t.Context(), stage, clouds) })
	// The garbage collector then knows the kinds of the chart and of the stories at once.
	if err := testenv.Cluster(t).Restart(t.Context(), localcluster.ControllerManager); err != nil {
		t.Fatal(err)
	}
	protect(t) // The API server knows the endpoint.
	stories, err := story.All(clouds)
	if err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	err = story.Tell(t.Context(), &told, stage, stories)
	t.Logf("the stories:\n%s", told.String())
	if err != nil {
		t.Error(err)
	}
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	removeAll(t, text)
}

var deploymentKey = client.ObjectKey{Namespace: chart.Namespace, Name: "kinship"}

// withoutPods removes the Pods of the Deployment, in which nothing runs. The API server would call them.
func withoutPods(t *testing.T) {
	t.Helper()
	c := operator.Client(t)
	testenv.Eventually(t, func() error {
		var deployment appsv1.Deployment
		if err := c.Get(t.Context(), deploymentKey, &deployment); err != nil {
			return err
		}
		deployment.Spec.Replicas = new(int32(0))
		return c.Update(t.Context(), &deployment)
	})
	testenv.Eventually(t, func() error {
		var pods corev1.PodList
		if err := c.List(t.Context(), &pods, client.InNamespace(chart.Namespace)); err != nil {
			return err
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("there are %d Pods", len(pods.Items))
		}
		var slices discoveryv1.EndpointSliceList
		ofPods := client.MatchingLabels{discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}
		if err := c.List(t.Context(), &slices, client.InNamespace(chart.Namespace), ofPods); err != nil {
			return err
		}
		for _, slice := range slices.Items {
			if len(slice.Endpoints) > 0 {
				return errors.New("the Service has endpoints of Pods")
			}
		}
		return nil
	})
}
