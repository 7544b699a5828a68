package iot_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestReadyOfNow: a connector with a changed image is not Ready before Kubernetes has seen the
// change, and not before the Pods of the new image are available.
func TestReadyOfNow(t *testing.T) {
	operator.Start(t)
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"), entry("b", "FhirConverter"))
	w.Create(c)
	w.ready(c)
	connectors, deployments := w.follow(&iotv1alpha1.IotConnectorList{}), w.follow(&appsv1.DeploymentList{})
	w.held(func() {
		change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[1].Containers[0].Image = "example.com/new:2" })
		message := w.until(c, "Ready", metav1.ConditionFalse, "Progressing")
		if message != "Deployment/b is being applied" {
			t.Errorf("message %q", message)
		}
	})
	w.ready(c)
	truthful(t, inOrder(connectors.stop(), deployments.stop()))
}

// TestReleaseImagesOneByOne: at any moment, a release of an image has at most maxUnavailable
// connectors that are not Ready.
func TestReleaseImagesOneByOne(t *testing.T) {
	operator.Start(t)
	w := newWorld(t)
	const n, most = 6, 2
	var all []*iotv1alpha1.IotConnector
	for i := range n {
		all = append(all, w.version1(fmt.Sprintf("c%d", i), entry(fmt.Sprintf("c%d-fhir", i), "FhirConverter")))
		w.Create(all[i])
	}
	w.ready(all...)
	connectors, deployments := w.follow(&iotv1alpha1.IotConnectorList{}), w.follow(&appsv1.DeploymentList{})
	r := w.release("images", 1)
	r.Spec.Images = map[string]string{"FhirConverter": "example.com/fhir:2"}
	r.Spec.Strategy.MaxUnavailable = new(intstr.FromInt32(most))
	w.held(func() {
		w.Create(r)
		testenv.Eventually(t, func() error {
			if err := w.C.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
				return err
			}
			if r.Status.Upgrading < most {
				return fmt.Errorf("%+v", r.Status)
			}
			return nil
		})
	})
	w.released(r, metav1.ConditionTrue, "UpToDate")
	w.ready(all...)
	events := inOrder(connectors.stop(), deployments.stop())
	truthful(t, events)
	peak := 0
	down(events, func(_ watch.Event, down map[string]bool) { peak = max(peak, len(down)) })
	if peak != most {
		t.Errorf("%d of %d connectors were changing at one moment, at most %d may", peak, n, most)
	}
}

// testBadChange: Pods from before a change keep serving, and do not make the connector Ready.
// Kubernetes' report about the bad change is no report about the next change.
func testBadChange(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"))
	w.Create(c)
	w.ready(c)
	serving := w.pods("a")
	w.deadline("a", 1)
	connectors, deployments := w.follow(&iotv1alpha1.IotConnectorList{}), w.follow(&appsv1.DeploymentList{})
	change(w, c, func(c *iotv1alpha1.IotConnector) {
		// No node is as large as that.
		c.Spec.Deployments[0].Resources = &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": quantity("1000000")},
		}
	})
	w.until(c, "Stalled", metav1.ConditionTrue, "ProgressDeadlineExceeded")
	if now := w.pods("a"); len(now) != 2 || !strings.Contains(strings.Join(now, ","), serving[0]) {
		t.Errorf("Pods %v, and %v before", now, serving)
	}
	w.deadline("a", 600)
	change(w, c, func(c *iotv1alpha1.IotConnector) {
		c.Spec.Deployments[0].Resources = nil
		c.Spec.Deployments[0].Containers[0].Image = "example.com/mended:3"
	})
	w.ready(c)
	events := inOrder(connectors.stop(), deployments.stop())
	truthful(t, events)
	for _, event := range events {
		now, ok := event.Object.(*iotv1alpha1.IotConnector)
		if ok && now.Generation == c.Generation && now.Status.ObservedGeneration == c.Generation &&
			meta.IsStatusConditionTrue(now.Status.Conditions, "Stalled") {
			t.Errorf("what was mended is stalled: %v", now.Status.Conditions)
		}
	}
}

// deadline sets progressDeadlineSeconds of a Deployment, and waits until Kubernetes has seen
// it.
func (w *world) deadline(name string, seconds int32) {
	w.T.Helper()
	change(w, w.deployment(name), func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = &seconds })
	testenv.Eventually(w.T, func() error {
		if d := w.deployment(name); d.Status.ObservedGeneration < d.Generation {
			return fmt.Errorf("generation %d is not seen yet: %+v", d.Generation, d.Status)
		}
		return nil
	})
}
