package policy_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// testRestored writes objects as a backup has them: a Usage is owned by the former using
// object, and a used object is locked. The Usage is kept, and the lock exists while the object
// is used.
func testRestored(t *testing.T) {
	w := newWorld(t)
	u, used, using := w.saved("u", "using", "used")
	w.Create(using, used)
	// For 5 s after the installation of a definition, no MutatingAdmissionPolicy finds its kind.
	testenv.Eventually(t, func() error { return w.TryCreate(u) })
	w.ready(u, metav1.ConditionTrue, "Available")
	w.ownedBy(u, using)
	w.refused(used)

	u.OwnerReferences[0].UID = former // Applied once more.
	if err := w.C.Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	w.ownedBy(u, using)

	early, _, late := w.saved("early", "late", "used")
	w.Create(early)
	w.ready(early, metav1.ConditionFalse, "UsingNotFound")
	w.ownedBy(early)
	w.Create(late)
	w.ready(early, metav1.ConditionTrue, "Available")
	w.ownedBy(early, late)

	// Of a kind that nothing is used of, which the operator does not watch.
	unused := &corev1.Secret{ObjectMeta: used.ObjectMeta}
	unused.ResourceVersion, unused.UID, unused.Labels = "", "", map[string]string{lock: "true", "theirs": "1"}
	w.Create(unused)
	if diff := cmp.Diff(map[string]string{"theirs": "1"}, unused.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if err := w.C.Delete(t.Context(), unused); err != nil {
		t.Error(err)
	}
	w.goes(using, late, used, u, early)
}

// saved returns a Usage and its objects as a backup has them.
func (w *world) saved(name, by, of string) (u *protectionv1beta1.Usage, used, using *corev1.ConfigMap) {
	w.T.Helper()
	using = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: by}}
	used = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.NS, Name: of, Labels: map[string]string{lock: "true", "theirs": "1"},
	}}
	u = w.usage(name, using, used)
	u.Finalizers = []string{"usage.apiextensions.crossplane.io"}
	u.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: by, UID: former}}
	return u, used, using
}

// former is the uid of an object that is gone.
const former types.UID = "8e7b8f5e-0000-4000-8000-000000000000"

// ownedBy waits until a Usage has these owners, and fails if the Usage is deleted.
func (w *world) ownedBy(u *protectionv1beta1.Usage, owners ...client.Object) {
	w.T.Helper()
	want, uid := make([]types.UID, 0, len(owners)), u.UID
	for _, o := range owners {
		want = append(want, o.GetUID())
	}
	testenv.Eventually(w.T, func() error {
		if err := w.C.Get(w.T.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if u.UID != uid || u.DeletionTimestamp != nil {
			w.T.Fatalf("%s was deleted", u.Name)
		}
		have := []types.UID{}
		for _, o := range u.OwnerReferences {
			have = append(have, o.UID)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			return fmt.Errorf("owners of %s (-want +got):\n%s", u.Name, diff)
		}
		return nil
	})
}
