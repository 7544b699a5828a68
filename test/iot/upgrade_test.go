package iot_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/iot"
	"github.com/kinship-dev/kinship/test/operator"
)

// upgrade upgrades a connector as a client does, with the service names that it knows.
func (w *world) upgrade(c *iotv1alpha1.IotConnector, names map[string]string) {
	w.T.Helper()
	change(w, c, func(c *iotv1alpha1.IotConnector) {
		if _, err := iot.Upgrade(c, names); err != nil {
			w.T.Fatal(err)
		}
	})
}

// rollback waits until the operator has recorded the previous spec, and restores it.
func (w *world) rollback(c *iotv1alpha1.IotConnector) {
	w.T.Helper()
	testenv.Eventually(w.T, func() error {
		if err := w.C.Get(w.T.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		if err := iot.Rollback(c); err != nil {
			return err
		}
		return w.C.Update(w.T.Context(), c)
	})
}

// testUpgrade is "V0 to V1 Crd Upgrade": a section for each container, its type
// that of the container, its name the service's, the previous version stored.
func testUpgrade(t *testing.T) {
	w := newWorld(t)
	c := w.version0("clinic")
	w.Create(c)
	w.ready(c)
	before := c.DeepCopy()
	w.upgrade(c, map[string]string{iot.TypeFhirConverter: "fhir-service"})
	w.ready(c)
	w.consists(c, "clinic-normalization", "fhir-service")
	version := iotv1alpha1.Version1
	want := iotv1alpha1.IotConnectorSpec{Version: &version, Deployments: []iotv1alpha1.Deployment{
		{Type: "Normalization", Containers: before.Spec.Containers[:1]},
		{Type: "FhirConverter", Name: "fhir-service", Containers: before.Spec.Containers[1:]},
	}}
	if diff := cmp.Diff(want, c.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	previous, err := iot.Previous(c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Spec, *previous); diff != "" {
		t.Errorf("previous spec (-want +got):\n%s", diff)
	}
	if c.Status.Version == nil || *c.Status.Version != 1 || c.Status.Previous == nil {
		t.Errorf("status %+v", c.Status)
	}
}

// testNoGap is "no gap in service": in both directions, the number of Ready Pods never falls
// below the former number.
func testNoGap(t *testing.T) {
	w := newWorld(t)
	c := w.version0("clinic")
	w.Create(c)
	w.ready(c)
	least := w.watchPods()
	w.upgrade(c, nil)
	w.ready(c)
	w.consists(c, "clinic-fhirconverter", "clinic-normalization")
	w.rollback(c)
	w.ready(c)
	w.consists(c, "clinic")
	if n := least(); n < 1 {
		t.Errorf("at one moment there were %d Ready Pods, and 1 before", n)
	}
}

// testNoGapScaled: the replaced Deployment was scaled by a user.
func testNoGapScaled(t *testing.T) {
	w := newWorld(t)
	c := w.version0("clinic")
	w.Create(c)
	w.ready(c)
	change(w, w.deployment("clinic"), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(5)) })
	testenv.Eventually(t, func() error {
		if n := w.deployment("clinic").Status.AvailableReplicas; n != 5 {
			return fmt.Errorf("%d available", n)
		}
		return nil
	})
	w.ready(c)
	least := w.watchPods()
	w.upgrade(c, nil)
	w.ready(c)
	w.consists(c, "clinic-fhirconverter", "clinic-normalization")
	if n := least(); n < 5 {
		t.Errorf("at one moment there were %d Ready Pods, and 5 before", n)
	}
	// From now on, they are scaled like any other Deployment.
	change(w, w.deployment("clinic-normalization"), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) })
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[0].Containers[0].Image = "example.com/new:2" })
	w.ready(c)
	if n := *w.deployment("clinic-normalization").Spec.Replicas; n != 2 {
		t.Errorf("%d replicas, want those that somebody asked for", n)
	}
}

// testOldStays: while the new Deployments are not available, the old Deployment serves.
func testOldStays(t *testing.T) {
	w := newWorld(t)
	c := w.version0("clinic")
	w.Create(c)
	w.ready(c)
	old := w.pods("clinic")
	change(w, c, func(c *iotv1alpha1.IotConnector) {
		if _, err := iot.Upgrade(c, nil); err != nil {
			t.Fatal(err)
		}
		// No node is as large as that.
		c.Spec.Deployments[1].Resources = &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": quantity("1000000")},
		}
	})
	testenv.Eventually(t, func() error {
		if err := w.C.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		for _, cond := range c.Status.Conditions {
			if cond.Type == "Ready" && strings.Contains(cond.Message, "Deployment/clinic stays until") {
				return nil
			}
		}
		return fmt.Errorf("conditions %v", c.Status.Conditions)
	})
	w.consists(c, "clinic", "clinic-fhirconverter", "clinic-normalization")
	if diff := cmp.Diff(old, w.pods("clinic")); diff != "" {
		t.Errorf("the old Pods (-before +after):\n%s", diff)
	}
	w.rollback(c)
	w.ready(c)
	w.consists(c, "clinic")
	if diff := cmp.Diff(old, w.pods("clinic")); diff != "" {
		t.Errorf("the old Pods after a rollback (-before +after):\n%s", diff)
	}
}

// testRollbackMeetsUpgrade: a user rolls back when the former Deployment has just been removed
// and the status does not show it, as if the operator had ended there. Available Deployments
// are kept until they are replaced.
func testRollbackMeetsUpgrade(t *testing.T) {
	w := newWorld(t)
	c := w.version0("clinic")
	w.Create(c)
	w.ready(c)
	w.unrecorded(c)
	w.upgrade(c, nil)
	w.Gone(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "clinic"}})
	if err := w.C.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil || *c.Status.Version != 0 {
		t.Fatalf("error %v, status %+v: the version that is on record must be the former", err, c.Status)
	}
	least := w.watchPods()
	none := w.noPods()
	w.rollback(c)
	w.until(c, "Ready", metav1.ConditionFalse, "Progressing")
	w.consists(c, "clinic", "clinic-fhirconverter", "clinic-normalization")
	w.Delete(none)
	w.ready(c)
	w.consists(c, "clinic")
	if n := least(); n < 1 {
		t.Errorf("at one moment there were %d Ready Pods", n)
	}
}

// unrecorded has the API server refuse to record that a connector is at version 1.
func (w *world) unrecorded(c *iotv1alpha1.IotConnector) {
	w.T.Helper()
	testenv.Refuse(w.T, w.NS, iotv1alpha1.GroupVersion.WithResource("iotconnectors/status"), "!has(object.status.version) || object.status.version != 1", "not on record")
	testenv.Eventually(w.T, func() error { // A policy takes effect a moment after its creation.
		try := c.DeepCopy()
		try.Status.Version = new(int32(1))
		err := w.C.Status().Update(w.T.Context(), try, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "not on record") {
			return errors.Join(errors.New("the policy is not in force"), err)
		}
		return nil
	})
}

// testVersionDown: the version goes down by a rollback to the spec on record and
// in no other way, whatever the annotation says.
func testVersionDown(t *testing.T) {
	w := newWorld(t)
	fresh := w.version1("fresh", entry("a", "Normalization"))
	w.Create(fresh)
	w.ready(fresh)
	other := w.version0("other").Spec
	down := func(c *iotv1alpha1.IotConnector) { c.Spec = other }
	refused(t, try(w, w.C, fresh, down), "no previous spec is on record")

	c := w.version0("clinic")
	w.Create(c)
	w.ready(c)
	w.upgrade(c, nil)
	w.ready(c)
	forge := func(c *iotv1alpha1.IotConnector) {
		c.Spec = *other.DeepCopy()
		c.Spec.Containers[0].Image = "example.com/never-seen:1"
		c.Annotations[iotv1alpha1.AnnotationPreviousSpec] = `{"containers":[]}`
	}
	refused(t, try(w, w.C, c, forge), "other than by a rollback")
	w.rollback(c)
	w.ready(c)
	if c.Status.Previous != nil || c.Annotations[iotv1alpha1.AnnotationPreviousSpec] != "" {
		t.Errorf("something is left of the upgrade: %v", c)
	}
}

// testForgedUpgrade: the annotation of an upgrade must hold the spec that was.
func testForgedUpgrade(t *testing.T) {
	w := newWorld(t)
	c := w.version0("clinic")
	w.Create(c)
	w.ready(c)
	refused(t, try(w, w.C, c, func(c *iotv1alpha1.IotConnector) {
		c.Spec.ServiceIdentity = &iotv1alpha1.ServiceIdentity{ClientID: "another"}
		if _, err := iot.Upgrade(c, nil); err != nil {
			t.Fatal(err)
		}
	}), "is not the spec that is there")
}

// refused expects an answer 422 or 403 with a text.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	isRefusal := apierrors.IsInvalid(err) || apierrors.IsForbidden(err)
	if !isRefusal || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// TestOlderController: a connector and its Deployment, as an older controller left them, are
// recognised by the owner's UID: there is no inventory, and the Deployment has a selector of
// its own. The Deployment is kept as it is, and replaced without a gap.
func TestOlderController(t *testing.T) {
	if err := operator.Start(t).Stop(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	unattended(t, w.C)
	c := w.version0("clinic")
	w.Create(c)
	old := stranger(w.NS, "clinic")
	old.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(c, iotv1alpha1.GroupVersion.WithKind("IotConnector")),
	}
	old.Spec.Replicas = new(int32(2))
	w.Create(old)
	// Not every field belongs to the older controller.
	before := old.DeepCopy()
	pod := &old.Spec.Template.Spec
	pod.Containers = append(pod.Containers, corev1.Container{Name: "sidecar", Image: "theirs"})
	must(t, w.C.Patch(t.Context(), old, client.StrategicMergeFrom(before), client.FieldOwner("injector")))
	testenv.Eventually(t, func() error {
		if d := w.deployment("clinic"); !rolled(d) {
			return fmt.Errorf("status %+v", d.Status)
		}
		return nil
	})

	least := w.watchPods()
	operator.Start(t)
	defer w.tidyUp(time.Minute)
	w.ready(c)
	kept := w.deployment("clinic")
	var containers []string
	for _, c := range kept.Spec.Template.Spec.Containers {
		containers = append(containers, c.Name)
	}
	slices.Sort(containers)
	if diff := cmp.Diff([]string{"fhirconverter", "normalization", "sidecar"}, containers); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if kept.UID != old.UID || *kept.Spec.Replicas != 2 {
		t.Errorf("it was not kept but is %v", kept)
	}
	w.upgrade(c, nil)
	w.ready(c)
	w.consists(c, "clinic-fhirconverter", "clinic-normalization")
	if n := least(); n < 2 {
		t.Errorf("at one moment there were %d Ready Pods, and 2 before", n)
	}
}
