package guard

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// sweepPage is the page size of [Lock.Sweep].
const sweepPage = 500

// Sweep removes the label from every [relation.Free] object of some kinds. An object may have
// kept the label while no operator ran: its Usage was changed, or was deleted without a
// finalizer. The [relation.Watcher] watches the objects of held kinds, so they need no Sweep.
// Call Sweep when [Lock].Hold knows everything that can hold an object of these kinds. Sweep
// omits a kind whose LIST is Forbidden, NotFound or MethodNotSupported.
func (l *Lock) Sweep(ctx context.Context, kinds []watch.Kind) error {
	failed := make([]error, 0, len(kinds))
	for _, mapping := range kinds {
		failed = append(failed, l.sweepKind(ctx, mapping))
	}
	return errors.Join(failed...)
}

func (l *Lock) sweepKind(ctx context.Context, mapping watch.Kind) error {
	for _, namespace := range l.Watcher.Namespaces(mapping.Mapping) {
		if err := l.sweepIn(ctx, mapping, namespace); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lock) sweepIn(ctx context.Context, mapping watch.Kind, namespace string) error {
	options := metav1.ListOptions{LabelSelector: l.Label + "=" + l.Value, Limit: sweepPage}
	for {
		page, err := l.Metadata.Resource(mapping.Resource).Namespace(namespace).List(ctx, options)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
			return nil
		case err != nil:
			return fmt.Errorf("look for locked %s: %w", mapping.Resource.GroupResource(), err)
		}
		for i := range page.Items {
			if err := l.sweepObject(ctx, relation.ObjectOf(mapping.GroupKind(), &page.Items[i])); err != nil {
				return err
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

// sweepObject is [Lock.Ensure] for an object that the Watcher does not have.
func (l *Lock) sweepObject(ctx context.Context, obj relation.Object) error {
	defer l.turns.take(obj.ID)()
	if l.Hold(obj) != relation.Free {
		return nil
	}
	_, err := l.write(ctx, obj, nil)
	if reconcile.IsSuperseded(err) {
		return nil
	}
	return err
}
