package openstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Adoption is the plan for one object of a backup, so that the restored object adopts the
// resource that the saved object had. If Why and Problem are empty, [Adoption.Do] writes
// spec.adopt.
type Adoption struct {
	// Object is kind and name, as in Network/net.
	Object string
	// ID is status.id in the backup. ID is empty for a RoleAssignment.
	ID string
	// Why says why spec.adopt need not be written.
	Why string
	// Problem says why spec.adopt can't be set for the object, and how to correct this.
	Problem string

	saved, live *unstructured.Unstructured
	adopt       map[string]any
	owner       *metav1.OwnerReference // for an object that a Subnet composed
}

// PlanAdoption compares the objects of a backup with the objects of a namespace. PlanAdoption
// writes nothing.
func PlanAdoption(
	ctx context.Context, c client.Reader, namespace string, backup []*unstructured.Unstructured,
) ([]Adoption, error) {
	var all []Adoption
	elsewhere := map[string]bool{}
	for _, saved := range backup {
		if !isKind(saved) {
			continue
		}
		if ns := saved.GetNamespace(); ns != "" && ns != namespace {
			elsewhere[ns] = true
			continue
		}
		a := Adoption{Object: saved.GetKind() + "/" + saved.GetName(), saved: saved}
		if err := a.plan(ctx, c, namespace); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the backup has no OpenStack objects of namespace %s, only objects of namespaces %v",
			namespace, slices.Sorted(maps.Keys(elsewhere)))
	}
	slices.SortStableFunc(all, func(a, b Adoption) int { return a.order() - b.order() })
	return all, nil
}

// order puts a composed object (a RouterInterface) before its Subnet: the Subnet composes a
// RouterInterface as soon as the Subnet is adopted.
func (a *Adoption) order() int {
	if a.owner != nil {
		return 0
	}
	return 1
}

func isKind(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().Group == kit.Group &&
		slices.ContainsFunc(kinds, func(k entry) bool { return k.name == u.GetKind() })
}

func (a *Adoption) plan(ctx context.Context, c client.Reader, namespace string) error {
	if policy, _, _ := unstructured.NestedString(a.saved.Object, "spec", "managementPolicy"); policy == "unmanaged" {
		a.Why = "imports its resource by itself"
		return nil
	}
	if a.readResource(); a.Problem != "" || a.Why != "" {
		return nil
	}
	if err := a.readOwner(ctx, c, namespace); err != nil || a.Problem != "" {
		return err
	}
	live, err := read(ctx, c, a.saved, namespace)
	if err != nil {
		return err
	}
	a.live = live
	if live == nil || live.GetDeletionTimestamp() != nil {
		if a.owner == nil {
			a.Problem = "is not in the namespace: apply the backup first"
		}
		return nil
	}
	a.compare()
	return nil
}

// read returns an object from the API server, or nil.
func read(
	ctx context.Context, c client.Reader, saved *unstructured.Unstructured, namespace string,
) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kit.GVK(saved.GetKind()))
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: saved.GetName()}, live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", saved.GetKind(), saved.GetName(), err)
	}
	return live, nil
}

// readResource sets ID and adopt from status.id in the backup.
func (a *Adoption) readResource() {
	status, _, _ := unstructured.NestedMap(a.saved.Object, "status")
	switch id, _ := status["id"].(string); {
	case len(status) == 0:
		a.Problem = "has no status in the backup: take the backup with kubectl get -o yaml, or set spec.adopt by hand"
	case a.saved.GetKind() == "RoleAssignment":
		filter, _, _ := unstructured.NestedMap(a.saved.Object, "spec", "resource")
		if _, exists := status["resource"]; !exists {
			a.Why = "had no resource"
		}
		a.adopt = map[string]any{"filter": filter}
	case id == "":
		a.Why = "had no resource"
	default:
		a.ID, a.adopt = id, map[string]any{"id": id}
	}
}

// readOwner finds the owner of a composed object, such as the Subnet of a RouterInterface. The
// garbage collector deletes a restored object whose ownerReference has another UID.
func (a *Adoption) readOwner(ctx context.Context, c client.Reader, namespace string) error {
	for _, o := range a.saved.GetOwnerReferences() {
		of := &unstructured.Unstructured{}
		of.SetAPIVersion(o.APIVersion)
		of.SetKind(o.Kind)
		of.SetName(o.Name)
		if !isKind(of) {
			continue
		}
		owner, err := read(ctx, c, of, namespace)
		if err != nil {
			return err
		}
		if owner == nil {
			a.Problem = fmt.Sprintf("belongs to %s/%s, which is not in the namespace: apply the backup first", o.Kind, o.Name)
			return nil
		}
		o.UID = owner.GetUID()
		a.owner = &o
	}
	return nil
}

// compare sets Why or Problem from the object in the API server.
func (a *Adoption) compare() {
	live, uid := a.live, a.live.GetUID()
	id, _, _ := unstructured.NestedString(live.Object, "status", "id")
	_, has, _ := unstructured.NestedMap(live.Object, "status", "resource")
	adopt, adopts, _ := unstructured.NestedMap(live.Object, "spec", "adopt")
	carried, of := external.IntentUID(kit.Group, live), a.uids()
	switch {
	case uid == a.saved.GetUID():
		a.Why = "is the object of the backup itself: it was not restored"
	case id != "" && id == a.ID, a.ID == "" && has:
		a.Why = "has the resource already"
	case id != "":
		a.Problem = fmt.Sprintf("has resource %s in status.id, not %s of the backup: the object created a new resource. "+
			"If you need that of the backup, delete the object, apply the backup again, and run this command again", id, a.ID)
	case adopts && fmt.Sprint(adopt) == fmt.Sprint(a.adopt):
		a.Why = "has spec.adopt already"
	case adopts:
		a.Problem = fmt.Sprintf("has another spec.adopt, %v: remove it first", adopt)
	case carried == uid:
		a.Problem = "has a resource created just now: wait until status.id is set, and decide which of the two you need"
	case carried != "" && len(of) > 0 && !slices.Contains(of, carried):
		a.Problem = fmt.Sprintf("was restored from another backup: its creation intent is of uid %s, "+
			"and the backup has uid %s", carried, of[0])
	case !sameCredentials(live, a.saved):
		a.Problem = "has another spec.cloudCredentialsRef than in the backup: its credentials may lead to another cloud"
	}
}

// UIDs returns the UIDs that the saved object had: metadata.uid and the UID of its creation
// intent.
func (a *Adoption) uids() []types.UID {
	all := []types.UID{a.saved.GetUID(), external.IntentUID(kit.Group, a.saved)}
	return slices.DeleteFunc(all, func(uid types.UID) bool { return uid == "" })
}

func sameCredentials(a, b *unstructured.Unstructured) bool {
	of := func(u *unstructured.Unstructured) string {
		ref, _, _ := unstructured.NestedMap(u.Object, "spec", "cloudCredentialsRef")
		return fmt.Sprint(ref)
	}
	return of(a) == of(b)
}

// ToDo reports whether [Adoption.Do] must write spec.adopt.
func (a *Adoption) ToDo() bool { return a.Why == "" && a.Problem == "" }

// collected is how long the garbage collector may take to delete a restored object whose
// ownerReference has another UID now.
const collected = 30 * time.Second

// Do writes spec.adopt, if the object has not changed since [PlanAdoption].
func (a *Adoption) Do(ctx context.Context, c client.Client, namespace string) error {
	if a.owner == nil {
		return a.write(ctx, c)
	}
	var last error
	try := func(ctx context.Context) (bool, error) {
		last = a.compose(ctx, c, namespace)
		if reconcile.IsOvertaken(last) || reconcile.IsSuperseded(last) {
			return false, nil
		}
		return true, last
	}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, collected, true, try)
	if wait.Interrupted(err) {
		return errors.Join(err, last)
	}
	return err
}

// compose restores the ownerReference of a composed object, or creates the object with this
// ownerReference.
func (a *Adoption) compose(ctx context.Context, c client.Client, namespace string) error {
	live, err := read(ctx, c, a.saved, namespace)
	if err != nil {
		return err
	}
	if live != nil && live.GetDeletionTimestamp() == nil {
		a.live = live
		return a.write(ctx, c)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": a.saved.DeepCopy().Object["spec"]}}
	u.SetGroupVersionKind(kit.GVK(a.saved.GetKind()))
	u.SetNamespace(namespace)
	u.SetName(a.saved.GetName())
	u.SetOwnerReferences([]metav1.OwnerReference{*a.owner})
	if err := unstructured.SetNestedMap(u.Object, a.adopt, "spec", "adopt"); err != nil {
		return fmt.Errorf("set spec.adopt of %s: %w", a.Object, err)
	}
	if err := c.Create(ctx, u); err != nil {
		return fmt.Errorf("create %s: %w", a.Object, err)
	}
	return nil
}

// write patches spec.adopt, with the resourceVersion of the object as read.
func (a *Adoption) write(ctx context.Context, c client.Client) error {
	u := a.live.DeepCopy()
	if err := unstructured.SetNestedMap(u.Object, a.adopt, "spec", "adopt"); err != nil {
		return fmt.Errorf("set spec.adopt of %s: %w", a.Object, err)
	}
	if a.owner != nil {
		u.SetOwnerReferences(append(slices.DeleteFunc(u.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
			return o.Kind == a.owner.Kind && o.Name == a.owner.Name
		}), *a.owner))
	}
	patch := client.MergeFromWithOptions(a.live, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, u, patch); err != nil {
		return fmt.Errorf("set spec.adopt of %s: %w", a.Object, err)
	}
	return nil
}
