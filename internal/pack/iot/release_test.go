package iot

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

func TestMain(m *testing.M) {
	crds := testenv.GroupCRDs("../../../config/crd", "services.azurehealthcareapis.com")
	testenv.Main(m, testenv.WithoutPods(), crds, testenv.CheckLeaks())
}

// TestWritesForgotten shows that an upgrade is remembered until the cache shows the upgraded
// IotConnector, and not for as long as the operator runs.
func TestWritesForgotten(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := iotv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, ns := testenv.Client(t, scheme), testenv.Namespace(t)
	before := &behindBy(0, 1)[0]
	before.Namespace, before.Status = ns, iotv1alpha1.IotConnectorStatus{}
	release := &iotv1alpha1.IotConnectorRelease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "r"}}
	release.Spec.Version = iotv1alpha1.Version1
	for _, obj := range []client.Object{before, release} {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	r := newRollout(c, c, &reconcile.Writes{}, events.NewFakeRecorder(10), clock.RealClock{})
	read := func(context.Context, object.ID) (client.Object, error) { return release, nil }
	if _, err := r.pass(read).Reconcile(t.Context(), object.Of(release, releaseKind.GroupKind())); err != nil {
		t.Fatal(err)
	}
	id := object.Of(before, connectorKind.GroupKind())
	after := before.DeepCopy()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(before), after); err != nil {
		t.Fatal(err)
	}
	if !r.upgrade.Writes.Unseen(id, before.ResourceVersion) {
		t.Errorf("the write is forgotten before the cache shows %v", after)
	}
	r.forgetWrite(before)
	if !r.upgrade.Writes.Unseen(id, before.ResourceVersion) {
		t.Error("the write is forgotten when the cache shows an older version")
	}
	r.forgetWrite(after)
	if r.upgrade.Writes.Unseen(id, before.ResourceVersion) {
		t.Error("the write is remembered although the cache shows the new version")
	}
}
