package usage

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// chooseObjects sets resourceRef on each side of a Usage that has a selector without matchAll.
// chooseObjects chooses once, and takes the oldest object: the same objects always give the same
// choice.
func (r *reconciler) chooseObjects(_ context.Context, p *pass) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, s := range sides(p.usage) {
		if hasName(s.resource) || s.resource.ResourceSelector == nil || matchesAll(s.resource) {
			continue
		}
		ref := selectedBy(p.usage, s.resource, r.watcher)
		objects, known := r.watcher.List(ref)
		if !known {
			outcome = outcome.And(r.unread(ref.GroupKind(), s.field))
			continue
		}
		outcome = outcome.And(choose(s, p.GetNamespace(), ref, objects))
	}
	return outcome
}

// choose sets resourceRef to the first object that is not being deleted. choose sets no
// namespace if the namespace is the namespace of the Usage.
func choose(s side, namespace string, ref relation.Ref, objects []relation.Object) reconcile.Outcome {
	i := slices.IndexFunc(objects, func(o relation.Object) bool { return !o.Deleting })
	if i < 0 {
		return reconcile.Wait(sharedv1alpha1.ReasonSelectorUnmatched, "%s: waiting for %s", s.field, ref)
	}
	id := objects[i].ID
	s.resource.ResourceRef = &sharedv1alpha1.ResourceRef{Name: id.Name}
	if id.Namespace != namespace {
		s.resource.ResourceRef.Namespace = id.Namespace
	}
	return reconcile.Outcome{}
}

// unread returns an Outcome that waits until the objects of a kind are read, with the error of
// the Watcher.
func (r *reconciler) unread(gk schema.GroupKind, field string) reconcile.Outcome {
	if err := r.watcher.Problem(gk); err != nil {
		return reconcile.Wait(sharedv1alpha1.ReasonReading, "%s: can't watch %s: %s", field, gk, err)
	}
	return reconcile.Wait(sharedv1alpha1.ReasonReading, "%s: waiting for %s objects to be read", field, gk)
}
