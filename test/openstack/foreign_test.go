package openstack_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// foreign is the finalizer of a controller that is not part of Kinship.
const foreign = "example.com/theirs"

// TestForeignFinalizers puts a foreign finalizer on a Network, its Subnet and the Secret with the
// credentials, and deletes all three. The resources stay in the cloud as long as the foreign
// finalizer is on their objects. The operator removes its own finalizers alone.
func TestForeignFinalizers(t *testing.T) {
	operator.Start(t, only)
	w := newWorld(t)
	w.apply(managed("Network", "net", "{}"), managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}"))
	w.available("Subnet", "sub")
	objects := [][2]string{{"Subnet", "sub"}, {"Network", "net"}, {"Secret", "cloud"}}
	for _, o := range objects {
		w.finalize(o[0], o[1], func(u *unstructured.Unstructured) { controllerutil.AddFinalizer(u, foreign) })
	}
	for _, o := range objects {
		w.delete(o[0], o[1])
	}
	w.says("Subnet", "sub", "Waiting for finalizer "+foreign+" to be removed")
	for i, o := range objects {
		for _, later := range objects[i:] {
			if all := w.get(later[0], later[1]).GetFinalizers(); !slices.Contains(all, foreign) {
				t.Errorf("%s %s has finalizers %v, want %s among them", later[0], later[1], all, foreign)
			}
		}
		if o[0] == "Secret" {
			break
		}
		if n := len(w.inCloud(map[string]string{"Subnet": "network/subnets", "Network": "network/networks"}[o[0]], o[1])); n != 1 {
			t.Errorf("%s %s is %d times in the cloud, want once: its object has the finalizer %s", o[0], o[1], n, foreign)
		}
		w.finalize(o[0], o[1], func(u *unstructured.Unstructured) { controllerutil.RemoveFinalizer(u, foreign) })
		w.gone(o[0], o[1])
	}
	w.finalize("Secret", "cloud", func(u *unstructured.Unstructured) { controllerutil.RemoveFinalizer(u, foreign) })
	w.gone("Secret", "cloud")
}

// finalize changes the finalizers of an object.
func (w *world) finalize(kind, name string, change func(*unstructured.Unstructured)) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		u := w.get(kind, name)
		change(u)
		return w.c.Update(w.t.Context(), u)
	})
}
