package pack

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Trace is a mark of a pack on an object, such as a finalizer, that only the operator removes.
type Trace struct {
	// Resource is where the object is found.
	Resource schema.GroupVersionResource
	// Object as read from the API server.
	Object *metav1.PartialObjectMetadata
	// Labels are the names of labels to take off.
	Labels []string
	// Finalizers to remove.
	Finalizers []string
	// Owner is the uid of an owner to take off, so that the garbage collector keeps the
	// object when the owner is deleted.
	Owner types.UID
	// Note says what happens to the object, or to the resource outside. Note may be empty.
	Note string
}

// What lists the marks to remove, as text.
func (t Trace) What() string {
	switch {
	case len(t.Labels) > 0:
		return fmt.Sprintf("label %s", t.Labels[0])
	case len(t.Finalizers) > 0:
		return "finalizers"
	default:
		return "the owner"
	}
}

// Strip removes the trace from an object, and reports whether the object had the trace.
func (t Trace) Strip(obj metav1.Object) bool {
	labels, finalizers, owners := len(obj.GetLabels()), len(obj.GetFinalizers()), len(obj.GetOwnerReferences())
	kept := obj.GetLabels()
	for _, l := range t.Labels {
		delete(kept, l)
	}
	obj.SetLabels(kept)
	obj.SetFinalizers(slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool {
		return slices.Contains(t.Finalizers, f)
	}))
	obj.SetOwnerReferences(slices.DeleteFunc(slices.Clone(obj.GetOwnerReferences()), func(o metav1.OwnerReference) bool {
		return o.UID == t.Owner
	}))
	return labels != len(obj.GetLabels()) || finalizers != len(obj.GetFinalizers()) ||
		owners != len(obj.GetOwnerReferences())
}

// Unread is a kind whose objects can't be read, for example because a conversion webhook does
// not answer.
type Unread struct {
	Resource schema.GroupVersionResource
	// Reason is why.
	Reason error
	// Left says which traces may be left on objects of the kind.
	Left string
}

// Traces are all that a pack has left.
type Traces struct {
	Found  []Trace
	Unread []Unread
}

// Reading has the clients with which a pack finds its traces. Reading works without a manager.
type Reading struct {
	Metadata metadata.Interface
	Watcher  *relation.Watcher
	// Timeout bounds one list request.
	Timeout time.Duration
}

// List reads the metadata of all objects of a resource that options select. A resource that is
// not served, or can't be listed, yields no objects.
func (r Reading) List(
	ctx context.Context, resource schema.GroupVersionResource, options metav1.ListOptions,
) ([]metav1.PartialObjectMetadata, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	list, err := r.Metadata.Resource(resource).List(ctx, options)
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	}
	return list.Items, nil
}

// Finalizers returns the finalizers of a pack (ours) on the objects of a resource.
func (r Reading) Finalizers(
	ctx context.Context, resource schema.GroupVersionResource, note string, ours func(finalizer string) bool,
) ([]Trace, error) {
	list, err := r.List(ctx, resource, metav1.ListOptions{})
	var found []Trace
	for i := range list {
		t := Trace{Resource: resource, Object: &list[i], Note: note}
		for _, f := range list[i].Finalizers {
			if ours(f) {
				t.Finalizers = append(t.Finalizers, f)
			}
		}
		if len(t.Finalizers) > 0 {
			found = append(found, t)
		}
	}
	return found, err
}

// Composed returns the traces of objects of some resources (composers) that own objects of other resources:
// the owner references of the owned objects, then the finalizers of the composers.
func (r Reading) Composed(
	ctx context.Context, composers, owned []schema.GroupVersionResource, finalizer object.Finalizer,
) (Traces, error) {
	var all Traces
	var finalizers []Trace
	kept := map[types.UID]bool{}
	for _, resource := range composers {
		list, err := r.List(ctx, resource, metav1.ListOptions{})
		if err != nil {
			return all, err
		}
		for i := range list {
			obj := &list[i]
			kept[obj.UID] = obj.DeletionTimestamp == nil || slices.Contains(obj.Finalizers, metav1.FinalizerOrphanDependents)
			if finalizer.On(obj) {
				ours := slices.DeleteFunc(slices.Clone(obj.Finalizers), func(f string) bool { return !finalizer.Is(f) })
				finalizers = append(finalizers, Trace{Resource: resource, Object: obj, Finalizers: ours})
			}
		}
	}
	var err error
	all.Found, err = r.ownedBy(ctx, kept, owned)
	all.Found = append(all.Found, finalizers...)
	return all, err
}

// ownedBy returns the owner references of objects of some resources to owners with some uids. Before a
// definition is removed with all its objects, such owner references are taken off: the garbage collector
// would delete the owned objects, although only the operator was to be removed. In owners, the value of an
// owner that is being deleted is false: its owner references stay.
func (r Reading) ownedBy(
	ctx context.Context, owners map[types.UID]bool, resources []schema.GroupVersionResource,
) ([]Trace, error) {
	if len(owners) == 0 {
		return nil, nil
	}
	var found []Trace
	for _, resource := range resources {
		list, err := r.List(ctx, resource, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list {
			for _, owner := range list[i].OwnerReferences {
				if owners[owner.UID] {
					found = append(found, Trace{
						Resource: resource, Object: &list[i], Owner: owner.UID, Note: "they stay as they are, without an owner",
					})
				}
			}
		}
	}
	return found, nil
}
