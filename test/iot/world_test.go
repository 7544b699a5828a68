package iot_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// world is the environment of a test: a namespace, and the rights of an administrator.
type world struct{ testenv.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{testenv.NewWorld(t, operator.Client(t))}
	t.Cleanup(func() { w.tidyUp(time.Minute) }) // While an operator handles the finalizers.
	return w
}

// tidyUp deletes the connectors and waits for the end of their deletion.
func (w *world) tidyUp(within time.Duration) {
	w.T.Helper()
	ctx := context.WithoutCancel(w.T.Context())
	testenv.EventuallyWithin(w.T, within, func() error {
		// Of a thousand objects, one request deletes as many as it can in a minute.
		if err := w.C.DeleteAllOf(ctx, &iotv1alpha1.IotConnector{}, client.InNamespace(w.NS)); err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
		if left := len(w.all()); left > 0 {
			return fmt.Errorf("%d IotConnectors are left", left)
		}
		return nil
	})
}

// unattended deletes the webhooks of a former operator: no operator answers them.
func unattended(t *testing.T, c client.Client) {
	t.Helper()
	name := metav1.ObjectMeta{Name: "kinship-iot"}
	for _, obj := range []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: name},
	} {
		if err := c.Delete(t.Context(), obj); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	try := &iotv1alpha1.IotConnector{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "try"}}
	try.Spec.Containers = []iotv1alpha1.Container{container("Normalization")}
	testenv.Eventually(t, func() error { // The API server needs a moment to drop them.
		return c.Create(t.Context(), try.DeepCopy(), client.DryRunAll)
	})
}

// Builders.

func container(kind string) iotv1alpha1.Container {
	return iotv1alpha1.Container{Type: kind, Image: "example.com/" + strings.ToLower(kind) + ":1"}
}

// entry is a deployment with a container of a type.
func entry(name, kind string) iotv1alpha1.Deployment {
	return iotv1alpha1.Deployment{Name: name, Containers: []iotv1alpha1.Container{container(kind)}}
}

func (w *world) connector(name string) *iotv1alpha1.IotConnector {
	return &iotv1alpha1.IotConnector{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.NS, Name: name, Labels: map[string]string{"Tier": "AlwaysUpdate"},
	}}
}

// version0 is a connector of version 0 with a container of each type.
func (w *world) version0(name string) *iotv1alpha1.IotConnector {
	c := w.connector(name)
	c.Spec.Containers = []iotv1alpha1.Container{container("Normalization"), container("FhirTransformation")}
	return c
}

// version1 is a connector of version 1 with some deployments.
func (w *world) version1(name string, entries ...iotv1alpha1.Deployment) *iotv1alpha1.IotConnector {
	c := w.connector(name)
	version := iotv1alpha1.Version1
	c.Spec.Version, c.Spec.Deployments = &version, entries
	return c
}

// Actions.

// change is Update with a function of the object's type.
func change[T client.Object](w *world, obj T, f func(T)) {
	w.T.Helper()
	w.Update(obj, func() { f(obj) })
}

// try is change with an expected refusal, and returns the error.
func try[T client.Object](w *world, c client.Client, obj T, f func(T)) error {
	w.T.Helper()
	for {
		if err := w.C.Get(w.T.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			w.T.Fatal(err)
		}
		f(obj)
		if err := c.Update(w.T.Context(), obj); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// Expectations.

// ready waits until connectors are Ready in their present generation.
func (w *world) ready(connectors ...*iotv1alpha1.IotConnector) {
	w.T.Helper()
	for _, c := range connectors {
		w.until(c, "Ready", metav1.ConditionTrue, "")
	}
}

// until waits for a condition of a connector in its present generation, and returns its
// message.
func (w *world) until(
	c *iotv1alpha1.IotConnector, kind string, status metav1.ConditionStatus, reason string,
) string {
	w.T.Helper()
	message := ""
	testenv.Eventually(w.T, func() error {
		if err := w.C.Get(w.T.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		found := meta.FindStatusCondition(c.Status.Conditions, kind)
		if found == nil || found.Status != status || (reason != "" && found.Reason != reason) ||
			found.ObservedGeneration != c.Generation {
			return fmt.Errorf("%s of generation %d is %+v", kind, c.Generation, c.Status.Conditions)
		}
		message = found.Message
		return nil
	})
	return message
}

// deployments returns the names of the Deployments of a connector.
func (w *world) deployments(c *iotv1alpha1.IotConnector) []string {
	w.T.Helper()
	var list appsv1.DeploymentList
	if err := w.C.List(w.T.Context(), &list, client.InNamespace(w.NS)); err != nil {
		w.T.Fatal(err)
	}
	names := []string{}
	for i := range list.Items {
		if d := &list.Items[i]; metav1.IsControlledBy(d, c) && d.DeletionTimestamp == nil {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
}

// consists waits until a connector has these Deployments and no other.
func (w *world) consists(c *iotv1alpha1.IotConnector, names ...string) {
	w.T.Helper()
	slices.Sort(names)
	testenv.Eventually(w.T, func() error {
		if got := w.deployments(c); !slices.Equal(got, names) {
			return fmt.Errorf("Deployments %v, want %v", got, names)
		}
		return nil
	})
}

func (w *world) deployment(name string) *appsv1.Deployment {
	w.T.Helper()
	d := &appsv1.Deployment{}
	if err := w.C.Get(w.T.Context(), client.ObjectKey{Namespace: w.NS, Name: name}, d); err != nil {
		w.T.Fatal(err)
	}
	return d
}

// pods returns the names and uids of the Pods of a Deployment.
func (w *world) pods(deployment string) []string {
	w.T.Helper()
	var list corev1.PodList
	err := w.C.List(w.T.Context(), &list, client.InNamespace(w.NS),
		client.MatchingLabels{"services.azurehealthcareapis.com/deployment": deployment})
	if err != nil {
		w.T.Fatal(err)
	}
	all := []string{}
	for i := range list.Items {
		all = append(all, fmt.Sprintf("%s %s", list.Items[i].Name, list.Items[i].UID))
	}
	slices.Sort(all)
	return all
}

// stranger is a Deployment of another owner.
func stranger(ns, name string) *appsv1.Deployment {
	labels := map[string]string{"app": "theirs"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "theirs"}}},
			},
		},
	}
}
