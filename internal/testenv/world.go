package testenv

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// World is the namespace of a test, with a client that has all rights ([Client]). The tests of a
// pack embed World in a type of their own, as test/openstack does.
type World struct {
	T  *testing.T
	C  client.WithWatch
	NS string
}

// NewWorld returns a World with a new namespace.
func NewWorld(t *testing.T, c client.WithWatch) World {
	t.Helper()
	return World{T: t, C: c, NS: Namespace(t)}
}

// Create creates objects. Create sets metadata.namespace of namespaced objects without a namespace
// to World.Namespace.
func (w *World) Create(objects ...client.Object) {
	w.T.Helper()
	for _, obj := range objects {
		if err := w.TryCreate(obj); err != nil {
			w.T.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
		}
	}
}

// TryCreate is Create for one object, and returns the error.
func (w *World) TryCreate(obj client.Object) error {
	w.T.Helper()
	namespaced, err := w.C.IsObjectNamespaced(obj)
	if err != nil {
		return err
	}
	if namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace(w.NS)
	}
	return w.C.Create(w.T.Context(), obj)
}

// Delete sends a DELETE for each object, and fails the test if the API server refuses a DELETE.
func (w *World) Delete(objects ...client.Object) {
	w.T.Helper()
	for _, obj := range objects {
		if err := w.C.Delete(w.T.Context(), obj); err != nil {
			w.T.Fatalf("delete %T %s: %v", obj, obj.GetName(), err)
		}
	}
}

// Read reads the present state of an object into it.
func (w *World) Read(obj client.Object) error {
	return w.C.Get(w.T.Context(), client.ObjectKeyFromObject(obj), obj)
}

// Update reads an object, changes it and writes it, again after a conflict.
func (w *World) Update(obj client.Object, change func()) {
	w.T.Helper()
	Eventually(w.T, func() error {
		if err := w.Read(obj); err != nil {
			return err
		}
		change()
		return w.C.Update(w.T.Context(), obj)
	})
}

// Gone waits until objects do not exist any more. An object with another metadata.uid may have the
// name, unless the given object has no metadata.uid.
func (w *World) Gone(objects ...client.Object) {
	w.T.Helper()
	for _, obj := range objects {
		live := obj.DeepCopyObject().(client.Object)
		Eventually(w.T, func() error {
			err := w.Read(live)
			isAnother := err == nil && obj.GetUID() != "" && live.GetUID() != obj.GetUID()
			if apierrors.IsNotFound(err) || isAnother {
				return nil
			}
			if err != nil {
				return err
			}
			return fmt.Errorf("%T %s is still there: %v", obj, obj.GetName(), live.GetFinalizers())
		})
	}
}

// Exists fails the test unless each object exists and has no metadata.deletionTimestamp.
func (w *World) Exists(objects ...client.Object) {
	w.T.Helper()
	for _, obj := range objects {
		if err := w.Read(obj); err != nil {
			w.T.Errorf("%T %s: %v", obj, obj.GetName(), err)
		} else if obj.GetDeletionTimestamp() != nil {
			w.T.Errorf("%T %s is being deleted", obj, obj.GetName())
		}
	}
}

// As returns a client of a user.
func (w *World) As(user string) client.Client {
	w.T.Helper()
	return ClientFor(w.T, As(w.T, user), w.C.Scheme())
}

// User returns a client of a user whose rights in the namespace are the given PolicyRules (Role and
// RoleBinding). Each call makes another user name. User waits until the API server grants the
// rights.
func (w *World) User(name string, rules ...rbacv1.PolicyRule) client.Client {
	w.T.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}, Rules: rules}
	w.Create(role, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: w.NS + "-" + name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	})
	AwaitRights(w.T, w.NS+"-"+name, w.NS, true, rules...)
	return w.As(w.NS + "-" + name)
}
