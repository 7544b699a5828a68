package iot

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.WithoutPods(), testenv.CRDs("../../../config/crd"), testenv.CheckLeaks())
}

// TestWritesForgotten: what a release has written is remembered until it is seen, and not
// for as long as the operator lives.
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
	r := newRollout(c, events.NewFakeRecorder(10), clock.RealClock{})
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(release)}); err != nil {
		t.Fatal(err)
	}
	id := object.Of(before, connectorKind.GroupKind())
	after := before.DeepCopy()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(before), after); err != nil {
		t.Fatal(err)
	}
	if !r.writes.Unseen(id, before.ResourceVersion) {
		t.Errorf("it forgets what nobody has seen: %v", after)
	}
	r.changed(t.Context(), before)
	if !r.writes.Unseen(id, before.ResourceVersion) {
		t.Error("it forgets when something older is seen")
	}
	r.changed(t.Context(), after)
	if r.writes.Unseen(id, before.ResourceVersion) {
		t.Error("it remembers what was seen")
	}
}
