package iot_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// foreign is the finalizer of a controller that is not part of Kinship.
const foreign = "example.com/theirs"

// TestForeignFinalizers puts a foreign finalizer on an IotConnector and on its Deployments and
// ServiceAccount. The operator changes the Deployments, prunes one, and ends the IotConnector. No
// version of any object lacks the foreign finalizer until the test removes it.
func TestForeignFinalizers(t *testing.T) {
	operator.Start(t)
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"), entry("b", "FhirConverter"))
	c.Spec.ServiceIdentity = &iotv1alpha1.ServiceIdentity{ClientID: "aaaa", ResourceID: "bbbb"}
	c.Finalizers = []string{foreign}
	w.Create(c)
	w.consists(c, "a", "b")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "c"}}
	marked := []client.Object{w.deployment("a"), w.deployment("b"), account}
	for _, obj := range marked {
		change(w, obj, func(obj client.Object) { controllerutil.AddFinalizer(obj, foreign) })
	}
	w.ready(c)
	records := []*record{
		w.follow(&iotv1alpha1.IotConnectorList{}), w.follow(&appsv1.DeploymentList{}), w.follow(&corev1.ServiceAccountList{}),
	}

	change(w, c, func(c *iotv1alpha1.IotConnector) {
		c.Spec.Deployments = c.Spec.Deployments[:1]
		c.Spec.Deployments[0].Containers[0].Image = "example.com/new:2"
	})
	w.consists(c, "a")
	w.Delete(c)
	w.consists(c)
	owner := string(c.UID)
	for _, r := range records {
		for _, event := range r.stop() {
			obj := event.Object.(client.Object)
			ours := string(obj.GetUID()) == owner || slices.ContainsFunc(marked, func(m client.Object) bool {
				return m.GetUID() == obj.GetUID()
			})
			if ours && (event.Type == watch.Deleted || !slices.Contains(obj.GetFinalizers(), foreign)) {
				t.Errorf("%s %T %s has finalizers %v, want %s among them", event.Type, obj, obj.GetName(), obj.GetFinalizers(), foreign)
			}
		}
	}

	for _, obj := range marked {
		w.free(obj)
	}
	testenv.Eventually(t, func() error { // The operator ends its part while the foreign finalizer is there.
		if err := w.C.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		if !slices.Equal(c.Finalizers, []string{foreign}) {
			return fmt.Errorf("IotConnector c has finalizers %v, want %s alone", c.Finalizers, foreign)
		}
		return nil
	})
	w.free(c)
	w.Gone(c)
}

// free removes the foreign finalizer from an object.
func (w *world) free(obj client.Object) {
	w.T.Helper()
	change(w, obj, func(obj client.Object) { controllerutil.RemoveFinalizer(obj, foreign) })
}
