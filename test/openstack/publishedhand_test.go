package openstack_test

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// The published operator's hand: the writes of that operator, with its requests and its field
// owners. These are facts about that operator; its code is not here.

// user is the field manager of applied manifests.
const user = client.FieldOwner("kubectl-client-side-apply")

// theirStatus are the fields of a status that the published operator writes.
var theirStatus = []string{"conditions", "id", "resource", "lastSyncTime", "downloadAttempts"}

// controllerOf returns the field owner of the published operator's controller of a kind.
func controllerOf(kind string) string { return group + "/" + strings.ToLower(kind) + "controller" }

// guardOwner returns the field owner of a kind's guards. The two finalizers of Trunks have one
// owner.
func guardOwner(finalizer string) string {
	return strings.TrimSuffix(finalizer, "-subport") + "controller"
}

// partial returns an object to apply metadata with, as the published operator does.
func partial(u *unstructured.Unstructured) *unstructured.Unstructured {
	p := &unstructured.Unstructured{}
	p.SetGroupVersionKind(u.GroupVersionKind())
	p.SetNamespace(u.GetNamespace())
	p.SetName(u.GetName())
	p.SetUID(u.GetUID())
	return p
}

// holdAs applies finalizers to an object. An empty list removes the finalizers of the owner.
func (w *world) holdAs(u *unstructured.Unstructured, owner string, finalizers ...string) *unstructured.Unstructured {
	w.t.Helper()
	p := partial(u)
	if len(finalizers) > 0 {
		p.SetFinalizers(finalizers)
	}
	err := w.c.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(p),
		client.FieldOwner(owner), client.ForceOwnership)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// guardAs adds all former guards to an object, each by its owner.
func (w *world) guardAs(u *unstructured.Unstructured, finalizers []string) {
	w.t.Helper()
	byOwner := map[string][]string{}
	for _, f := range finalizers {
		byOwner[guardOwner(f)] = append(byOwner[guardOwner(f)], f)
	}
	for owner, names := range byOwner {
		w.holdAs(u, owner, names...)
	}
}

// reportAs writes the status of an object: its id at once, and the rest by an apply.
func (w *world) reportAs(u *unstructured.Unstructured, status map[string]any) {
	w.t.Helper()
	if id, has := status["id"]; has {
		p := partial(u)
		p.Object["status"] = map[string]any{"id": id}
		text, err := p.MarshalJSON()
		if err != nil {
			w.t.Fatal(err)
		}
		patch := client.RawPatch("application/merge-patch+json", text)
		if err := w.c.Status().Patch(w.t.Context(), p, patch, client.FieldOwner("manager")); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.applyStatusAs(u, status); err != nil {
		w.t.Fatal(err)
	}
}

// applyStatusAs applies all of a status but the id.
func (w *world) applyStatusAs(u *unstructured.Unstructured, status map[string]any) error {
	written := map[string]any{}
	for _, field := range theirStatus {
		if value, has := status[field]; has && field != "id" {
			written[field] = value
		}
	}
	p := &unstructured.Unstructured{Object: map[string]any{"status": written}}
	p.SetGroupVersionKind(u.GroupVersionKind())
	p.SetNamespace(u.GetNamespace())
	p.SetName(u.GetName())
	err := w.c.Status().Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(p),
		client.FieldOwner(controllerOf(u.GetKind())+"/status"), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply the status of %s/%s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}

// writtenBy rewrites all objects of the world, and the Secrets that they name, as if the
// published operator had created them: new objects of the same names, without a field of
// another operator. No operator may run meanwhile.
func (w *world) writtenByPublished() {
	w.t.Helper()
	before := w.objects()
	for _, u := range before {
		w.strip(u.GetKind(), u.GetName())
	}
	for _, u := range before { // The garbage collector may be faster.
		if err := w.c.Delete(w.t.Context(), partial(u)); client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
	}
	uids := map[string]*unstructured.Unstructured{}
	for _, u := range before {
		w.gone(u.GetKind(), u.GetName())
		uids[u.GetKind()+"/"+u.GetName()] = w.again(u)
	}
	for _, u := range before {
		now := uids[u.GetKind()+"/"+u.GetName()]
		own := group + "/" + strings.ToLower(u.GetKind())
		w.ownAs(now, u.GetOwnerReferences(), uids)
		w.holdAs(now, controllerOf(u.GetKind())+"/finalizer", own)
		w.guardAs(now, slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == own }))
		status, _, _ := unstructured.NestedMap(u.Object, "status")
		w.reportAs(now, asPublished(u.GetKind(), status))
	}
	secret := w.get("Secret", "cloud")
	finalizers := secret.GetFinalizers()
	w.strip("Secret", "cloud")
	w.guardAs(w.get("Secret", "cloud"), finalizers)
}

// strip removes all finalizers from an object, and their managedFields.
func (w *world) strip(kind, name string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		u := w.get(kind, name)
		u.SetFinalizers(nil)
		u.SetManagedFields([]metav1.ManagedFieldsEntry{})
		return w.c.Update(w.t.Context(), u, user)
	})
}

// again creates an object once more, as its user would.
func (w *world) again(u *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	now := &unstructured.Unstructured{Object: map[string]any{"spec": u.DeepCopy().Object["spec"]}}
	now.SetGroupVersionKind(u.GroupVersionKind())
	now.SetNamespace(u.GetNamespace())
	now.SetName(u.GetName())
	if err := w.c.Create(w.t.Context(), now, user); err != nil {
		w.t.Fatal(err)
	}
	return now
}

// ownAs gives an object its owners. The published operator makes no owner the controller.
func (w *world) ownAs(
	u *unstructured.Unstructured, owners []metav1.OwnerReference, uids map[string]*unstructured.Unstructured,
) {
	w.t.Helper()
	if len(owners) == 0 {
		return
	}
	for i := range owners {
		owners[i].UID = uids[owners[i].Kind+"/"+owners[i].Name].GetUID()
		owners[i].Controller, owners[i].BlockOwnerDeletion = nil, new(true)
	}
	u.SetOwnerReferences(owners)
	if err := w.c.Update(w.t.Context(), u, client.FieldOwner("manager")); err != nil {
		w.t.Fatal(err)
	}
}

// asPublished returns a status without the fields that only we write, and with the fields that
// only the published operator writes. Its conditions have the first generation of a new object.
func asPublished(kind string, status map[string]any) map[string]any {
	theirs := map[string]any{}
	for _, field := range theirStatus {
		if value, has := status[field]; has {
			theirs[field] = value
		}
	}
	resource, has := theirs["resource"].(map[string]any)
	if has && slices.Contains([]string{"FloatingIP", "Trunk", "Volume"}, kind) {
		resource["tenantID"] = "a project, by another name"
	}
	conditions, _ := theirs["conditions"].([]any)
	for _, c := range conditions {
		c.(map[string]any)["observedGeneration"] = int64(1)
	}
	return theirs
}
