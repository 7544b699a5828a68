package iot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestLarge grows an IotConnector and its Deployment to what the API server stores. The
// Deployment follows a change of the image, keeps what others wrote, and is deleted with the
// IotConnector.
func TestLarge(t *testing.T) {
	operator.Start(t)
	for name, grow := range map[string]func(client.Object){
		"1000 owners": func(obj client.Object) {
			refs := obj.GetOwnerReferences()
			for i := range 1000 { // The garbage collector knows no kind X.
				refs = append(refs, metav1.OwnerReference{
					APIVersion: "x.io/v1", Kind: "X", Name: "x", UID: types.UID(fmt.Sprintf("u%05d", i)),
				})
			}
			obj.SetOwnerReferences(refs)
		},
		"1000 finalizers": func(obj client.Object) {
			all := obj.GetFinalizers()
			for i := range 1000 {
				all = append(all, fmt.Sprintf("example.com/finalizer-%d", i))
			}
			obj.SetFinalizers(all)
		},
		"a large annotation": func(obj client.Object) {
			obj.SetAnnotations(map[string]string{"a": strings.Repeat("x", 250<<10)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.version1("c", entry("a", "Normalization"))
			grow(c)
			w.Create(c)
			w.consists(c, "a")
			d := w.deployment("a")
			change(w, client.Object(d), grow)
			want := foreignParts(d)
			image := "example.com/new:2"
			change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[0].Containers[0].Image = image })
			testenv.Eventually(t, func() error {
				if d = w.deployment("a"); d.Spec.Template.Spec.Containers[0].Image != image {
					return fmt.Errorf("Deployment a has image %s", d.Spec.Template.Spec.Containers[0].Image)
				}
				return nil
			})
			w.ready(c)
			if got := foreignParts(w.deployment("a")); got != want {
				t.Errorf("Deployment a has %s, was given %s", got, want)
			}
			w.Delete(c)
			w.consists(c)
			w.releaseAll(d, c)
		})
	}
}

// foreignParts counts what TestLarge has added to an object.
func foreignParts(obj client.Object) string {
	finalizers := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool {
		return !strings.HasPrefix(f, "example.com/")
	})
	return fmt.Sprintf("%d owners, %d foreign finalizers, an annotation of %d bytes",
		len(obj.GetOwnerReferences()), len(finalizers), len(obj.GetAnnotations()["a"]))
}

// releaseAll removes the finalizers and owners that TestLarge has added, and waits until the
// objects are gone.
func (w *world) releaseAll(objects ...client.Object) {
	w.T.Helper()
	for _, obj := range objects {
		testenv.Eventually(w.T, func() error {
			if err := w.C.Get(w.T.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
				return client.IgnoreNotFound(err)
			}
			obj.SetFinalizers(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool {
				return strings.HasPrefix(f, "example.com/")
			}))
			return w.C.Update(w.T.Context(), obj)
		})
		w.Gone(obj)
	}
}
