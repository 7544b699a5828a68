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

	"github.com/kinship-dev/kinship/pkg/relation"
)

// Trace is a mark of a pack on one object, such as a finalizer, which only the operator
// removes.
type Trace struct {
	// Resource is where the object is found.
	Resource schema.GroupVersionResource
	// Object is the object as it was read.
	Object *metav1.PartialObjectMetadata
	// Labels are the names of labels to take off.
	Labels []string
	// Finalizers are those to take off.
	Finalizers []string
	// Owner is the uid of an owner to take off, so that the garbage collector keeps the
	// object when the owner is deleted.
	Owner types.UID
	// Note says what happens to the object, or to the resource behind the object. Note may be
	// empty.
	Note string
}

// What names what is taken off.
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

// Strip takes the trace off an object, and reports whether the object had it.
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

// Unread is a kind whose objects can't be read, because a conversion webhook of
// somebody else does not answer, for example.
type Unread struct {
	Resource schema.GroupVersionResource
	// Reason is why.
	Reason error
	// Left is what may be left on such objects.
	Left string
}

// Traces are all that a pack has left.
type Traces struct {
	Found  []Trace
	Unread []Unread
}

// Reading is what a pack is given to find its traces. It runs without a manager.
type Reading struct {
	Metadata metadata.Interface
	Watcher  *relation.Watcher
	// Timeout is how long one list may take.
	Timeout time.Duration
}

// List reads the metadata of all objects of a resource that options select. A resource
// that is not served, or can't be listed, has none.
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
