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
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// testSetDifference is the seed's "Perform a set difference between the current
// set of Deployments and the desired set", with its three cases.
func testSetDifference(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("stays", "Normalization"), entry("changes", "FhirConverter"), entry("goes", "Storage"))
	w.Create(c)
	w.ready(c)
	w.consists(c, "stays", "changes", "goes")
	stays, changes := w.pods("stays"), w.deployment("changes")

	change(w, c, func(c *iotv1alpha1.IotConnector) {
		d := c.Spec.Deployments
		d[1].Containers[0].Image = "example.com/other:2"
		c.Spec.Deployments = []iotv1alpha1.Deployment{entry("comes", "EventhubDestination"), d[0], d[1]}
	})
	w.ready(c)
	w.consists(c, "stays", "changes", "comes")
	if diff := cmp.Diff(stays, w.pods("stays")); diff != "" {
		t.Errorf("Pods of a Deployment that nobody changed (-before +after):\n%s", diff)
	}
	after := w.deployment("changes")
	if after.UID != changes.UID || after.Spec.Template.Spec.Containers[0].Image != "example.com/other:2" {
		t.Errorf("it was not updated but is %v", after)
	}
}

// testNames is "The name of K8s Deployments will be that of the name specified",
// or else "concatenating the IotConnector Crd Name with the Deployment Type".
func testNames(t *testing.T) {
	w := newWorld(t)
	byContainer := entry("", "StorageDestination")
	byContainer.Containers[0].Name = "storage-service"
	byType := entry("", "Normalization")
	byOwnType := entry("", "FhirConverter")
	byOwnType.Type = "EventhubDestination"
	older := entry("", "FhirTransformation")
	c := w.version1("abcd1234", entry("my-own", "Anything"), byContainer, byType, byOwnType, older)
	w.Create(c)
	w.ready(c)
	w.consists(c, "my-own", "storage-service", "abcd1234-normalization", "abcd1234-eventhubdestination",
		"abcd1234-fhirconverter")
}

// testSideCars is "All containers specified inside of the spec will be included
// inside of the same Deployment. This will allow us to support side car containers."
func testSideCars(t *testing.T) {
	w := newWorld(t)
	d := entry("fhir", "FhirConverter")
	d.Containers = append(d.Containers, container("Proxy"))
	d.Containers[0].EnvironmentVariables = []iotv1alpha1.EnvironmentVariable{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}
	c := w.version1("c", d)
	w.Create(c)
	w.ready(c)
	spec := w.deployment("fhir").Spec.Template.Spec
	if len(spec.Containers) != 2 || spec.Containers[0].Name != "fhirconverter" || spec.Containers[1].Name != "proxy" {
		t.Errorf("containers %v", spec.Containers)
	}
	want := []corev1.EnvVar{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}
	if diff := cmp.Diff(want, spec.Containers[0].Env); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

// testDestinationRemoved is "Destinations need to first update the spec, remove
// their deployment entry, and submit an update request to remove only their K8s
// resources."
func testDestinationRemoved(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("normalization", "Normalization"), entry("fhir", "FhirConverter"))
	w.Create(c)
	w.ready(c)
	before := w.pods("normalization")
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments = c.Spec.Deployments[:1] })
	w.ready(c)
	w.consists(c, "normalization")
	testenv.Eventually(t, func() error {
		if pods := w.pods("fhir"); len(pods) > 0 {
			return fmt.Errorf("Pods %v are left", pods)
		}
		return nil
	})
	if diff := cmp.Diff(before, w.pods("normalization")); diff != "" {
		t.Errorf("the other's Pods (-before +after):\n%s", diff)
	}
	// "An IotConnector Pod can exist without any Destination Pods", and a connector
	// without any.
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments = []iotv1alpha1.Deployment{} })
	w.ready(c)
	w.consists(c)
}

// testVersion0 is "The code path for V0 remains unchanged": one Deployment, named after the
// connector, with all containers in one Pod.
func testVersion0(t *testing.T) {
	w := newWorld(t)
	c := w.version0("clinic")
	w.Create(c)
	w.ready(c)
	w.consists(c, "clinic")
	if n := len(w.deployment("clinic").Spec.Template.Spec.Containers); n != 2 {
		t.Errorf("%d containers", n)
	}
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Containers[0].Image = "example.com/new:2" })
	w.ready(c)
	w.consists(c, "clinic")
	if image := w.deployment("clinic").Spec.Template.Spec.Containers[0].Image; image != "example.com/new:2" {
		t.Errorf("image %s", image)
	}
}

// testOwnedByUID: a Deployment that the connector owns, and the inventory does not
// have, is part of the current set all the same.
func testOwnedByUID(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"))
	w.Create(c)
	w.ready(c)
	old := stranger(w.NS, "left-behind")
	old.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(c, iotv1alpha1.GroupVersion.WithKind("IotConnector")),
	}
	w.Create(old)
	w.Gone(old)
	w.consists(c, "a")
}

// testSharedIdentity is "Common objects (such as Azure Identity Bindings) can be
// create once and shared amongs all created pods".
func testSharedIdentity(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"), entry("b", "FhirConverter"))
	c.Spec.ServiceIdentity = &iotv1alpha1.ServiceIdentity{ClientID: "aaaa", ResourceID: "bbbb"}
	w.Create(c)
	w.ready(c)
	account := &corev1.ServiceAccount{}
	if err := w.C.Get(t.Context(), client.ObjectKey{Namespace: w.NS, Name: "c"}, account); err != nil {
		t.Fatal(err)
	}
	if account.Annotations["azure.workload.identity/client-id"] != "aaaa" ||
		account.Labels["azure.workload.identity/use"] != "true" || !metav1.IsControlledBy(account, c) {
		t.Errorf("account %v", account)
	}
	for _, name := range []string{"a", "b"} {
		pod := w.deployment(name).Spec.Template
		if pod.Spec.ServiceAccountName != "c" || pod.Labels["azure.workload.identity/use"] != "true" {
			t.Errorf("Pods of %s act as %q, labels %v", name, pod.Spec.ServiceAccountName, pod.Labels)
		}
	}
	if c.Status.Identity == nil || *c.Status.Identity != (iotv1alpha1.Identity{Kind: "ServiceAccount", Name: "c"}) {
		t.Errorf("status.identity is %v", c.Status.Identity)
	}
}

// testDeletion is "Actual removal of the IotConnector resource": everything is deleted, the
// Deployments and their Pods before their identity.
func testDeletion(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"), entry("b", "FhirConverter"))
	w.Create(c)
	w.ready(c)
	held := w.deployment("a")
	change(w, held, func(d *appsv1.Deployment) { d.Finalizers = append(d.Finalizers, "kinship.dev/test") })
	w.Delete(c)
	w.Gone(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "b"}})
	message := w.until(c, "Ready", metav1.ConditionFalse, "Deleting")
	if !strings.Contains(message, "Deployment/a is being deleted") {
		t.Errorf("message %q", message)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "c"}}
	if err := w.C.Get(t.Context(), client.ObjectKeyFromObject(account), account); err != nil || account.DeletionTimestamp != nil {
		t.Errorf("the identity goes before a Deployment: %v", err)
	}
	change(w, held, func(d *appsv1.Deployment) { d.Finalizers = nil })
	w.Gone(held)
	w.Gone(account)
	w.Gone(c)
}

// testForeign: "a Deployment of that name owned by someone else" is named, left
// alone, and waited for.
func testForeign(t *testing.T) {
	w := newWorld(t)
	theirs := stranger(w.NS, "taken")
	w.Create(theirs)
	c := w.version1("c", entry("free", "Normalization"), entry("taken", "FhirConverter"))
	w.Create(c)
	message := w.until(c, "Ready", metav1.ConditionFalse, "NameTaken")
	if !strings.Contains(message, "Deployment/taken exists and belongs to somebody else") {
		t.Errorf("message %q", message)
	}
	w.until(c, "Stalled", metav1.ConditionTrue, "NameTaken")
	if got := w.deployment("taken"); got.UID != theirs.UID || len(got.OwnerReferences) > 0 ||
		got.Spec.Template.Spec.Containers[0].Image != "theirs" {
		t.Errorf("it was taken over: %v", got)
	}
	w.Delete(theirs)
	w.ready(c)
	w.consists(c, "free", "taken")
}

// testManyMinds: while objects of another owner have all wanted names, a spec may be changed
// any number of times: the inventory has room for the wanted objects.
func testManyMinds(t *testing.T) {
	w := newWorld(t)
	theirs := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "c"}}
	w.Create(theirs)
	entries := func(n, round int) (all []iotv1alpha1.Deployment) {
		for i := range n {
			all = append(all, entry(fmt.Sprintf("d%d-%d", round, i), "Storage"))
		}
		return all
	}
	c := w.version1("c", entries(64, 0)...)
	w.Create(c)
	for round := range 5 {
		change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments = entries(64, round+1) })
		w.until(c, "Stalled", metav1.ConditionTrue, "NameTaken")
	}
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments = entries(1, 9) })
	w.Delete(theirs)
	w.ready(c)
	w.consists(c, "d9-0")
	if n := len(c.Status.Inventory); n != 2 {
		t.Errorf("%d objects are on record", n)
	}
}

// testTakenOver: a Deployment that another controller has taken over is left alone,
// also when the connector goes.
func testTakenOver(t *testing.T) {
	w := newWorld(t)
	other := stranger(w.NS, "other")
	w.Create(other)
	c := w.version1("c", entry("free", "Normalization"), entry("taken", "FhirConverter"))
	w.Create(c)
	w.ready(c)
	change(w, w.deployment("taken"), func(d *appsv1.Deployment) {
		d.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(other, appsv1.SchemeGroupVersion.WithKind("Deployment")),
		}
	})
	message := w.until(c, "Stalled", metav1.ConditionTrue, "NameTaken")
	if !strings.Contains(message, "Deployment/taken exists and belongs to somebody else") {
		t.Errorf("message %q", message)
	}
	w.Delete(c)
	w.Gone(c)
	if d := w.deployment("taken"); d.DeletionTimestamp != nil {
		t.Error("somebody else's Deployment is being deleted")
	}
}

// testHeldDeployment: the deletion of a composed object takes time, and the object no longer
// has its ownerReference.
func testHeldDeployment(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"))
	w.Create(c)
	w.ready(c)
	change(w, w.deployment("a"), func(d *appsv1.Deployment) { d.Finalizers = append(d.Finalizers, "example.com/hold") })
	w.Delete(c)
	message := w.until(c, "Ready", metav1.ConditionFalse, "Deleting")
	if !strings.Contains(message, "Deployment/a is being deleted") {
		t.Errorf("message %q", message)
	}
	change(w, w.deployment("a"), func(d *appsv1.Deployment) { d.OwnerReferences = nil })
	change(w, w.deployment("a"), func(d *appsv1.Deployment) {
		d.Finalizers = slices.DeleteFunc(d.Finalizers, func(f string) bool { return f == "example.com/hold" })
	})
	w.Gone(c)
}

// testDrift: every change of a Deployment by a user is undone. bench/composite measures the
// time.
func testDrift(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"), entry("b", "FhirConverter"))
	w.Create(c)
	w.ready(c)
	deployment := func(d *appsv1.Deployment) func() error {
		return func() error {
			var now appsv1.Deployment
			if err := w.C.Get(t.Context(), client.ObjectKey{Namespace: w.NS, Name: "a"}, &now); err != nil {
				return err
			}
			switch {
			case now.Spec.Template.Spec.Containers[0].Image != "example.com/normalization:1":
				return fmt.Errorf("image %s", now.Spec.Template.Spec.Containers[0].Image)
			case !metav1.IsControlledBy(&now, c):
				return fmt.Errorf("owners %v", now.OwnerReferences)
			case now.Labels["app.kubernetes.io/managed-by"] != "kinship":
				return fmt.Errorf("labels %v", now.Labels)
			case d != nil && now.UID == d.UID:
				return fmt.Errorf("it is still the one that was deleted")
			}
			return nil
		}
	}
	edits := map[string]func(*appsv1.Deployment){
		"image":  func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "theirs" },
		"owner":  func(d *appsv1.Deployment) { d.OwnerReferences = nil },
		"labels": func(d *appsv1.Deployment) { d.Labels = nil },
	}
	for name, edit := range edits {
		change(w, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "a"}}, edit)
		begin := time.Now()
		testenv.Eventually(t, deployment(nil))
		t.Logf("%s back after %s", name, time.Since(begin).Round(time.Millisecond))
	}
	gone := w.deployment("a")
	w.Delete(gone)
	begin := time.Now()
	testenv.Eventually(t, deployment(gone))
	t.Logf("deleted Deployment back after %s", time.Since(begin).Round(time.Millisecond))
	w.ready(c)
}

// testAutoscaler: if the spec has no replicas, another client may set them.
func testAutoscaler(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"))
	w.Create(c)
	w.ready(c)
	change(w, w.deployment("a"), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) })
	testenv.Eventually(t, func() error {
		if n := w.deployment("a").Status.AvailableReplicas; n != 3 {
			return fmt.Errorf("%d available", n)
		}
		return nil
	})
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[0].Containers[0].Image = "example.com/new:2" })
	w.ready(c)
	if n := *w.deployment("a").Spec.Replicas; n != 3 {
		t.Errorf("%d replicas", n)
	}
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[0].Replicas = new(int32(2)) })
	w.ready(c)
	if n := *w.deployment("a").Spec.Replicas; n != 2 {
		t.Errorf("%d replicas", n)
	}
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[0].Replicas = nil })
	w.ready(c)
	if n := *w.deployment("a").Spec.Replicas; n != 2 {
		t.Errorf("%d replicas: those that were asked for until now are not kept", n)
	}
	change(w, w.deployment("a"), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(4)) })
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[0].Containers[0].Image = "example.com/new:3" })
	w.ready(c)
	if n := *w.deployment("a").Spec.Replicas; n != 4 {
		t.Errorf("%d replicas: they are not others' to choose", n)
	}
}

// testRivalAutoscaler: an autoscaler that sets the number of Pods again, although the spec has replicas, keeps the number.
// An event says so, all other fields are as the spec requests, and the IotConnector is Ready.
func testRivalAutoscaler(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"))
	c.Spec.Deployments[0].Replicas = new(int32(1))
	w.Create(c)
	w.ready(c)
	scale := func() {
		t.Helper()
		testenv.Eventually(t, func() error {
			d := w.deployment("a")
			d.Spec.Replicas = new(int32(2))
			return w.C.Update(t.Context(), d, client.FieldOwner("autoscaler"))
		})
	}
	pods := func(want int32) {
		t.Helper()
		testenv.Eventually(t, func() error {
			if n := *w.deployment("a").Spec.Replicas; n != want {
				return fmt.Errorf("%d replicas, want %d", n, want)
			}
			return nil
		})
	}
	scale()
	pods(1) // Taken back once.
	scale()
	testenv.Eventually(t, func() error {
		var list eventsv1.EventList
		if err := w.C.List(t.Context(), &list, client.InNamespace(w.NS)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == "FieldsLeft" && strings.Contains(e.Note, "spec.replicas is left to field manager autoscaler") {
				return nil
			}
		}
		return errors.New("no event says that the field is left")
	})
	pods(2)
	change(w, w.deployment("a"), func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "example.com/other:1" })
	testenv.Eventually(t, func() error {
		if image := w.deployment("a").Spec.Template.Spec.Containers[0].Image; image == "example.com/other:1" {
			return errors.New("another field is not as the spec requests")
		}
		return nil
	})
	pods(2)
	w.ready(c)
}

// testRestricted: Pods pass the restricted Pod Security Standard by default.
func testRestricted(t *testing.T) {
	w := newWorld(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.NS}}
	change(w, ns, func(ns *corev1.Namespace) {
		ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	})
	c, v0 := w.version1("c", entry("a", "Normalization")), w.version0("clinic")
	w.Create(c, v0)
	w.ready(c, v0)

	// The operator makes no Pod that the namespace refuses to its users.
	privileged := w.version1("privileged", entry("p", "Normalization"))
	privileged.Spec.Deployments[0].Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	w.Create(privileged)
	testenv.Eventually(t, func() error {
		d := &appsv1.Deployment{}
		if err := w.C.Get(t.Context(), client.ObjectKey{Namespace: w.NS, Name: "p"}, d); err != nil {
			return err
		}
		for _, condition := range d.Status.Conditions {
			if condition.Type == appsv1.DeploymentReplicaFailure && strings.Contains(condition.Message, "violates PodSecurity") {
				return nil
			}
		}
		return errors.New("the Deployment of privileged Pods does not say that they are refused")
	})
	if pods := w.pods("p"); len(pods) > 0 {
		t.Errorf("privileged Pods are there: %v", pods)
	}
}

// TestOrphan: a user who deletes a connector with --cascade=orphan keeps its objects, without
// relying on the garbage collector, which may not have seen everything yet.
func TestOrphan(t *testing.T) {
	operator.Start(t)
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"))
	w.Create(c)
	w.ready(c)
	w.held(func() {
		if err := w.C.Delete(t.Context(), c, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, func() error {
			if owners := w.deployment("a").OwnerReferences; len(owners) > 0 {
				return fmt.Errorf("owners %v", owners)
			}
			return nil
		})
	})
	w.Gone(c)
	if d := w.deployment("a"); d.DeletionTimestamp != nil {
		t.Error("the Deployment goes along")
	}
}
