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
)

// Adoption is what has to be done for one object of a backup, so that the restored object
// takes over the resource that it had. If Why and Problem are empty, spec.adopt is to be
// written.
type Adoption struct {
	// Object is kind and name, as in Network/net.
	Object string
	// ID of the resource, according to the backup. It is empty for a role assignment.
	ID string
	// Why says why there is nothing to do.
	Why string
	// Problem says why the object can't be adopted, and what to do.
	Problem string

	saved, live *unstructured.Unstructured
	adopt       map[string]any
	owner       *metav1.OwnerReference // of what a Subnet composes
}

// PlanAdoption compares the objects of a backup with those of a namespace. It changes nothing.
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
		return nil, fmt.Errorf("the backup has no OpenStack objects of namespace %s, only those of %v",
			namespace, slices.Sorted(maps.Keys(elsewhere)))
	}
	slices.SortStableFunc(all, func(a, b Adoption) int { return a.order() - b.order() })
	return all, nil
}

// order has what a Subnet composes adopted before the Subnet, which composes it at once.
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

// read returns an object as it is now, or nil.
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

// readResource finds in the backup which resource the object had.
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

// readOwner finds the object that composes this one, such as the Subnet of a RouterInterface.
// The garbage collector deletes a restored object whose owner has another uid.
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

// compare decides by the object as it is now.
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
		a.Problem = fmt.Sprintf("has resource %s in status.id, not %s of the backup: the object had another one created. "+
			"If you need the one of the backup, delete the object, apply the backup again, and run this command again", id, a.ID)
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

// uids are those of the object that was saved.
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

// ToDo reports whether spec.adopt is to be written.
func (a *Adoption) ToDo() bool { return a.Why == "" && a.Problem == "" }

// collected is how long the garbage collector may take for a restored object whose owner has
// another uid now.
const collected = 30 * time.Second

// Do writes spec.adopt, if the object is still as it was when the plan was made.
func (a *Adoption) Do(ctx context.Context, c client.Client, namespace string) error {
	if a.owner == nil {
		return a.write(ctx, c)
	}
	var last error
	try := func(ctx context.Context) (bool, error) {
		last = a.compose(ctx, c, namespace)
		if apierrors.IsAlreadyExists(last) || apierrors.IsConflict(last) || apierrors.IsNotFound(last) {
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

// compose gives what another object composes its owner back, or creates it with that owner.
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

// write sets spec.adopt of the object as it was read.
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
