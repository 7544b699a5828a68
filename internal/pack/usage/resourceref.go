package usage

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// refOf returns the [relation.Ref] of spec.of or spec.by. The Ref is zero before chooseObjects
// has set resourceRef. The error is for the status: it says why the side can't name an object.
func refOf(u usage, r *sharedv1alpha1.Resource, kinds relation.Kinds) (relation.Ref, error) {
	if err := checkResource(r); err != nil {
		return relation.Ref{}, err
	}
	gk := groupKindOf(r)
	mapping, err := mappingOf(r, kinds)
	if err != nil {
		return relation.Ref{}, err
	}
	ref := relation.Ref{ID: object.ID{Group: gk.Group, Kind: gk.Kind}}
	if mapping.Namespaced {
		ref.Namespace = namespaceOf(u, r)
	}
	switch {
	case hasName(r) && mapping.Namespaced && ref.Namespace == "":
		return relation.Ref{}, fmt.Errorf("%s lives in a namespace: set resourceRef.namespace", gk)
	case hasName(r):
		ref.Name = r.ResourceRef.Name
		return ref, nil
	case matchesAll(r):
		ref.Selector = selectorOf(u, r.ResourceSelector)
		return ref, nil
	default:
		return relation.Ref{}, nil
	}
}

func hasName(r *sharedv1alpha1.Resource) bool {
	return r.ResourceRef != nil && r.ResourceRef.Name != ""
}

// matchesAll reports whether spec.of or spec.by has a selector that stands for every object that
// matches.
func matchesAll(r *sharedv1alpha1.Resource) bool {
	return r.ResourceSelector != nil && ptr.Deref(r.ResourceSelector.MatchAll, false)
}

// groupKindOf returns the kind that spec.of or spec.by names, without the version: objects are the
// same in every version.
func groupKindOf(r *sharedv1alpha1.Resource) schema.GroupKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
}

// mappingOf returns the resource of the kind that spec.of or spec.by names. A kind of an API group
// that does not answer counts as namespaced: without a mapping the protection would end, and no
// object of the kind can be read or deleted until the group answers.
func mappingOf(r *sharedv1alpha1.Resource, kinds relation.Kinds) (watch.Mapping, error) {
	mapping, err := kinds.Mapping(groupKindOf(r).WithVersion(""))
	if _, unanswered := errors.AsType[*watch.UnansweredError](err); unanswered {
		return watch.Mapping{Namespaced: true}, nil
	}
	return mapping, err
}

// namespaceOf returns the namespace in which spec.of or spec.by names objects. Empty means all.
func namespaceOf(u usage, r *sharedv1alpha1.Resource) string {
	switch {
	case r.ResourceRef != nil && r.ResourceRef.Namespace != "":
		return r.ResourceRef.Namespace
	case r.ResourceSelector != nil && r.ResourceSelector.Namespace != "":
		return r.ResourceSelector.Namespace
	default:
		return u.GetNamespace()
	}
}

// noController is a UID that no object has.
const noController = "none"

// selectorOf returns the [relation.Selector] of spec.of or spec.by. With matchControllerRef,
// the Selector selects objects with the same controller as the Usage; for a Usage without a
// controller, the Selector selects no object.
func selectorOf(u usage, s *sharedv1alpha1.ResourceSelector) *relation.Selector {
	selector := &relation.Selector{Labels: s.MatchLabels}
	if ptr.Deref(s.MatchControllerRef, false) {
		selector.Controller = noController
		if c := metav1.GetControllerOfNoCopy(u); c != nil {
			selector.Controller = c.UID
		}
	}
	return selector
}

// selectedBy returns the [relation.Ref] for the selector of spec.of or spec.by. Ref.Selector is
// nil if the side has no selector.
func selectedBy(u usage, r *sharedv1alpha1.Resource, kinds relation.Kinds) relation.Ref {
	gk := groupKindOf(r)
	ref := relation.Ref{ID: object.ID{Group: gk.Group, Kind: gk.Kind}}
	if r.ResourceSelector != nil {
		ref.Selector = selectorOf(u, r.ResourceSelector)
	}
	if m, err := kinds.Mapping(gk.WithVersion("")); err == nil && m.Namespaced {
		ref.Namespace = namespaceOf(u, r)
	}
	return ref
}

// usedReference returns the used object for an event, or nil if the used object is not known by
// name.
func (r *reconciler) usedReference(p *pass) *corev1.ObjectReference {
	target, err := refOf(p.usage, &p.UsageSpec().Of, r.watcher)
	if err != nil || target.Name == "" {
		return nil
	}
	return referenceTo(p.UsageSpec().Of.APIVersion, target.ID)
}

func referenceTo(apiVersion string, id object.ID) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: apiVersion, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}
