package usage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
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

// volatile are the kinds whose objects change all the time. A watch of Events would send the
// operator every event of the cluster. No Usage needs these kinds: an Event or a Lease is about
// another object, which the Usage can name instead.
var volatile = []schema.GroupKind{
	{Kind: "Event"},
	{Group: "events.k8s.io", Kind: "Event"},
	{Group: "coordination.k8s.io", Kind: "Lease"},
	{Group: "coordination.k8s.io", Kind: "LeaseCandidate"},
}

func isVolatile(gk schema.GroupKind) bool { return slices.Contains(volatile, gk) }

// plainNames are the API groups in which every object name is a DNS subdomain. Names of Roles,
// or of objects of an aggregated API server, may have other characters.
var plainNames = []string{"", "apiextensions.k8s.io", "apps", "autoscaling", "batch", "policy", "storage.k8s.io"}

// checkResource returns an error if no object can ever match spec.of or spec.by, whatever is
// installed or created later.
func checkResource(r *sharedv1alpha1.Resource) error {
	gk := groupKindOf(r)
	if isVolatile(gk) {
		return fmt.Errorf("%[1]s objects are written all the time, and can't be watched for a Usage: "+
			"name the object that the %[1]s is about", gk)
	}
	if ref := r.ResourceRef; hasName(r) {
		if slices.Contains(plainNames, gk.Group) {
			if err := wrong("name", ref.Name, validation.IsDNS1123Subdomain(ref.Name)); err != nil {
				return err
			}
		}
		return wrongNamespace(ref.Namespace)
	}
	s := r.ResourceSelector
	if s == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if err := wrong("label", key, validation.IsQualifiedName(key)); err != nil {
			return err
		}
		value := s.MatchLabels[key]
		if err := wrong("label "+key+" with the value", value, validation.IsValidLabelValue(value)); err != nil {
			return err
		}
	}
	return wrongNamespace(s.Namespace)
}

func wrongNamespace(name string) error {
	if name == "" {
		return nil
	}
	return wrong("namespace", name, validation.IsDNS1123Label(name))
}

// wrong returns an error if there are reasons why no object can have a name, a label or a value.
func wrong(what, value string, reasons []string) error {
	if len(reasons) == 0 {
		return nil
	}
	return fmt.Errorf("no object can have the %s %q: %s", what, value, strings.Join(reasons, "; "))
}

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
