package usage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// remove takes the locks and finalizers off, so that nothing is left behind that
// only the operator could undo.
func remove(ctx context.Context, r pack.Removal) error {
	for _, k := range kinds {
		list, err := listUsages(ctx, r.Live, k)
		if err != nil {
			if notServed(err) {
				continue
			}
			return err
		}
		for _, u := range list {
			if err := removeFinalizer(ctx, r, u); err != nil {
				return err
			}
		}
		if len(list) > 0 {
			r.Say("took the finalizer off %d %s", len(list), k.GroupKind())
		}
	}
	return unlockAll(ctx, r)
}

func removeFinalizer(ctx context.Context, r pack.Removal, u usage) error {
	before := u.DeepCopyObject().(usage)
	u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == finalizer }))
	if err := r.Live.Patch(ctx, u, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take the finalizer off %s: %w", identify(u), err)
	}
	return nil
}

// notServed reports whether an error says that there is no such kind.
func notServed(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// unlockAll takes the lock off every object of every kind.
func unlockAll(ctx context.Context, r pack.Removal) error {
	var failed []error
	for _, mapping := range r.Watcher.Served() {
		n, err := unlockKind(ctx, r, mapping)
		if n > 0 {
			r.Say("took label %s off %d %s", lockLabel, n, mapping.Resource.Resource)
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

func unlockKind(ctx context.Context, r pack.Removal, mapping relation.Mapping) (int, error) {
	resource := r.Metadata.Resource(mapping.Resource)
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: lockLabel})
	if err != nil {
		return 0, fmt.Errorf("list locked %s: %w", mapping.Resource.Resource, err)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, lockLabel)
	for i := range list.Items {
		obj := &list.Items[i]
		// The policy that puts the label back may be in force for a moment after its
		// own deletion, so look at what came of the request.
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 10*time.Second, true,
			func(ctx context.Context) (bool, error) {
				answer, err := resource.Namespace(obj.Namespace).Patch(
					ctx, obj.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldOwner})
				if err != nil {
					return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
				}
				return answer.Labels[lockLabel] == "", nil
			})
		if err != nil {
			return i, fmt.Errorf("take the lock off %s %s/%s: %w", mapping.Kind, obj.Namespace, obj.Name, err)
		}
	}
	return len(list.Items), nil
}
