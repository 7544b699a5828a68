package iot_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// backup has a connector of version 0 and its composed objects.
type backup struct {
	connector  *iotv1alpha1.IotConnector
	deployment *appsv1.Deployment
	account    *corev1.ServiceAccount
}

// lost creates a connector, saves it, and deletes all of it.
func (w *world) lost(name string) backup {
	w.T.Helper()
	c := w.version0(name)
	w.Create(c)
	w.ready(c)
	b := backup{c.DeepCopy(), w.deployment(name), &corev1.ServiceAccount{}}
	key := client.ObjectKey{Namespace: w.NS, Name: b.deployment.Spec.Template.Spec.ServiceAccountName}
	if err := w.C.Get(w.T.Context(), key, b.account); err != nil {
		w.T.Fatal(err)
	}
	w.Delete(c)
	w.Gone(c)
	w.Gone(b.deployment.DeepCopy())
	w.Gone(b.account.DeepCopy())
	return b
}

// restore creates objects again: the API server gives them new UIDs and drops the status.
func (w *world) restore(objects ...client.Object) {
	w.T.Helper()
	for _, obj := range objects {
		obj.SetResourceVersion("")
		obj.SetUID("")
		obj.SetManagedFields(nil)
		w.Create(obj)
	}
}

// asks waits until the message of a connector says what a user must do about an object.
func (w *world) asks(c *iotv1alpha1.IotConnector, reason, about string) {
	w.T.Helper()
	testenv.Eventually(w.T, func() error {
		message := w.until(c, "Ready", metav1.ConditionFalse, reason)
		if !strings.HasPrefix(message, "Restored: ") || !strings.Contains(message, about) {
			return fmt.Errorf("%s: %s, want a message that begins with Restored: and names %s", reason, message, about)
		}
		return nil
	})
}

// testRestoredUpgrade: a backup from the middle of an upgrade, restored without
// ownerReferences. The remaining Deployment of the former version does not serve beside the new
// Deployments.
func testRestoredUpgrade(t *testing.T) {
	w := newWorld(t)
	b := w.lost("clinic")
	b.deployment.OwnerReferences, b.account.OwnerReferences = nil, nil
	w.restore(b.account, b.deployment)
	c := w.version1("clinic", entry("a", "Normalization"))
	c.Finalizers = b.connector.Finalizers
	w.Create(c)
	w.asks(c, "NameTaken", "Deployment/clinic")
	if got := w.deployments(c); len(got) > 0 {
		t.Errorf("Deployments %v are made beside those of the backup", got)
	}
	w.Delete(b.deployment)
	w.asks(c, "NameTaken", "ServiceAccount/"+b.account.Name)
	w.Delete(b.account)
	w.ready(c)
	w.consists(c, "a")
}

// testRestoredKept: a person keeps the objects of a backup that have no owner.
func testRestoredKept(t *testing.T) {
	w := newWorld(t)
	b := w.lost("clinic")
	b.deployment.OwnerReferences, b.account.OwnerReferences = nil, nil
	w.restore(b.connector.DeepCopy())
	c := w.connector("clinic")
	w.ready(c)
	w.Delete(c)
	w.Gone(c) // The order of restoration does not matter to the next connector.

	w.restore(b.account, b.deployment, b.connector)
	c = b.connector
	w.asks(c, "NameTaken", "Deployment/clinic")
	yes := true
	owner := metav1.OwnerReference{
		APIVersion: iotv1alpha1.GroupVersion.String(), Kind: "IotConnector", Name: c.Name, UID: c.UID, Controller: &yes,
	}
	kept := []types.UID{b.deployment.UID, b.account.UID}
	change(w, b.account, func(o *corev1.ServiceAccount) { o.OwnerReferences = []metav1.OwnerReference{owner} })
	change(w, b.deployment, func(o *appsv1.Deployment) { o.OwnerReferences = []metav1.OwnerReference{owner} })
	w.ready(c)
	w.consists(c, "clinic")
	if got := w.deployment("clinic"); got.UID != kept[0] {
		t.Error("the Deployment is another one")
	}
}

// testRestoredOwned: a backup with ownerReferences. The garbage collector deletes the objects
// of the former connector, and the operator creates them again, once.
func testRestoredOwned(t *testing.T) {
	w := newWorld(t)
	b := w.lost("clinic")
	const hold = "example.com/hold" // The garbage collector is not too quick to be seen.
	b.deployment.Finalizers = append(b.deployment.Finalizers, hold)
	w.restore(b.deployment, b.account, b.connector)
	former := b.deployment.UID
	w.asks(b.connector, "Terminating", "Deployment/clinic")
	change(w, b.deployment, func(o *appsv1.Deployment) { o.Finalizers = nil })
	w.ready(b.connector)
	w.consists(b.connector, "clinic")
	if w.deployment("clinic").UID == former {
		t.Error("the Deployment of the former connector was taken over")
	}
}

// testBackupPage runs the commands of the page for this pack.
func testBackupPage(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"))
	w.Create(c)
	w.ready(c)
	commands := testenv.PageCommands(t, "../../docs/backup-and-restore.md", "IotConnectors")
	if len(commands) != 1 {
		t.Fatalf("%d blocks of commands", len(commands))
	}
	save, restore, _ := strings.Cut(strings.TrimSpace(commands[0]), "\n")
	dir := t.TempDir()
	testenv.Shell(t, dir, w.NS, save)
	w.Delete(c)
	w.Gone(c)
	testenv.Shell(t, dir, w.NS, restore)
	c = w.connector("c")
	w.ready(c)
	w.consists(c, "a")
}
