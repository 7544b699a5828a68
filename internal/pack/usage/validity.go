package usage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// side is spec.of or spec.by.
type side struct {
	field    string
	resource *sharedv1alpha1.Resource
}

func sides(u usage) []side {
	spec := u.UsageSpec()
	if spec.By == nil {
		return []side{{"spec.of", &spec.Of}}
	}
	return []side{{"spec.of", &spec.Of}, {"spec.by", spec.By}}
}

// checkSpec refuses a Usage whose spec can never work, that has no permission, or that closes a
// ring. checkSpec waits for kinds that are not served yet.
func (r *reconciler) checkSpec(ctx context.Context, p *pass) reconcile.Outcome {
	outcome := problems(p.usage, r.watcher)
	if outcome.Worst().State == reconcile.Invalid {
		return outcome
	}
	if !r.ledger.permitted(p.usage, r.ledger.grants) {
		return reconcile.Refuse(sharedv1alpha1.ReasonNotGranted,
			"spec.of: namespace %s has no ReferenceGrant for %s; ask its administrators for one",
			namespaceOf(p.usage, &p.UsageSpec().Of), p.id)
	}
	if !outcome.IsDone() {
		return outcome
	}
	for _, e := range r.ledger.Declared.Declared(p.id) {
		if e.Content != nil {
			continue
		}
		// relation.ErrTooMany is no reason to refuse: the object is protected either way.
		if ring, err := r.ledger.Ring(ctx, e); err == nil && ring != nil {
			return reconcile.Refuse(sharedv1alpha1.ReasonCycle,
				"the resources use each other in a circle: %s; delete one of the Usages", ringText(ring))
		}
	}
	return reconcile.Outcome{}
}

// problems returns the problems of a Usage that can be seen without other objects.
func problems(u usage, kinds relation.Kinds) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, s := range sides(u) {
		outcome = outcome.And(sideProblems(u, s, kinds))
	}
	of, err := refOf(u, &u.UsageSpec().Of, kinds)
	switch {
	case err != nil:
		return outcome
	case of == relation.Named(identify(u)):
		return reconcile.Refuse(sharedv1alpha1.ReasonInvalid,
			"spec.of: a Usage can't protect itself: the Usage could never be deleted")
	case outcome.IsDone() && u.UsageSpec().By != nil && !of.IsZero():
		by, err := refOf(u, u.UsageSpec().By, kinds)
		if err == nil && of.Equal(by) {
			return reconcile.Refuse(sharedv1alpha1.ReasonInvalid,
				"spec.by: a resource can't use itself: to protect it, leave spec.by out and set spec.reason")
		}
	}
	return outcome
}

// sideProblems returns the problems of spec.of or spec.by.
func sideProblems(u usage, s side, kinds relation.Kinds) reconcile.Outcome {
	gk := groupKindOf(s.resource)
	var outcome reconcile.Outcome
	refuse := func(format string, args ...any) {
		outcome = outcome.And(reconcile.Refuse(sharedv1alpha1.ReasonInvalid, s.field+": "+format, args...))
	}
	if namespace := namespaceOf(u, s.resource); s.field == "spec.by" && u.GetNamespace() != "" &&
		namespace != u.GetNamespace() {
		refuse("the using resource must be in the Usage's own namespace %s: create the Usage in namespace %s",
			u.GetNamespace(), namespace)
	}
	if s.field == "spec.of" && gk.Group == guard.ConfigurationKind.Group {
		refuse("%s can't be protected: the API server calls no webhook before it deletes one", gk)
	}
	if err := checkNamespaces(u, s, kinds); err != nil {
		refuse("%s", err)
	}
	if _, err := refOf(u, s.resource, kinds); relation.IgnoreGone(err) != nil {
		refuse("%s", err)
	}
	return outcome.And(kindProblem(s, gk.WithVersion(""), kinds))
}

// unservedVersions waits for the versions of the kinds that a Usage names. No other step waits
// for a version, because objects are the same in every version of their kind.
func unservedVersions(u usage, kinds relation.Kinds) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, s := range sides(u) {
		gvk := schema.FromAPIVersionAndKind(s.resource.APIVersion, s.resource.Kind)
		outcome = outcome.And(kindProblem(s, gvk, kinds))
	}
	return outcome
}

// kindProblem waits for a kind that the API server does not serve, or whose API group does not
// answer.
func kindProblem(s side, gvk schema.GroupVersionKind, kinds relation.Kinds) reconcile.Outcome {
	_, err := kinds.Mapping(gvk)
	switch {
	case err == nil:
		return reconcile.Outcome{}
	case relation.IsGone(err):
		return reconcile.Wait(sharedv1alpha1.ReasonKindNotFound, "%s: %s; waiting for it to be installed", s.field, err)
	default:
		return reconcile.Wait(sharedv1alpha1.ReasonReading, "%s: %s", s.field, err)
	}
}

// ringText returns a ring for people: ConfigMap/a -> ConfigMap/b -> ConfigMap/a.
func ringText(ring []object.ID) string {
	return strings.Join(lists.Map(ring, object.ID.Short), " -> ")
}

// namespaceScope tells which namespaces the operator works in, as relation.Watcher does.
type namespaceScope interface {
	// Limited reports whether the operator runs with --namespaces.
	Limited() bool
	// Covers reports whether the operator works in a namespace.
	Covers(namespace string) bool
}

// checkNamespaces returns an error if an operator with --namespaces can't see the objects of
// spec.of or spec.by.
//
// Of the cluster-scoped kinds, checkNamespaces allows only Namespace and
// CustomResourceDefinition: the operator locks them together with the objects inside, and so
// has the rights.
func checkNamespaces(u usage, s side, kinds relation.Kinds) error {
	where, ok := kinds.(namespaceScope)
	if !ok || !where.Limited() {
		return nil
	}
	mapping, err := mappingOf(s.resource, kinds)
	if err != nil {
		return nil //nolint:nilerr // kindProblem reports a kind that is not served
	}
	gk, namespace := groupKindOf(s.resource), namespaceOf(u, s.resource)
	switch {
	case mapping.Namespaced && namespace == "":
		return fmt.Errorf("the operator sees %s objects only in the namespaces of --namespaces: name one of these", gk)
	case mapping.Namespaced && !where.Covers(namespace):
		return fmt.Errorf("the operator does not work in namespace %s (--namespaces)", namespace)
	case mapping.Namespaced, gk == relation.DefinitionKind:
		return nil
	case gk == namespaceKind:
		if hasName(s.resource) && where.Covers(s.resource.ResourceRef.Name) {
			return nil
		}
		return errors.New("the operator runs with --namespaces: name one of these namespaces")
	default:
		return fmt.Errorf("%s objects are cluster-scoped, and the operator runs with --namespaces", gk)
	}
}

// isOutside reports whether checkNamespaces fails for a side of a Usage.
func (l *ledger) isOutside(u usage) bool {
	return slices.ContainsFunc(sides(u), func(s side) bool { return checkNamespaces(u, s, l.watcher) != nil })
}
