package usage

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kinship-dev/kinship/pkg/relation"
)

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
