package usage

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// covering tells which namespaces the operator works in.
type covering interface {
	// Limited reports whether these are some namespaces and not all.
	Limited() bool
	// Covers reports whether a namespace is one of these.
	Covers(namespace string) bool
}

// outside returns why the operator, which works in some namespaces alone, can't see what one
// side of a Usage stands for. Of a kind that is not served nothing is known.
//
// Namespaces and definitions are all that is protected of what has no namespace: they are
// protected with what they hold, so that the operator has rights to them.
func outside(u usage, s side, kinds relation.Kinds) error {
	where, ok := kinds.(covering)
	if !ok || !where.Limited() {
		return nil
	}
	mapping, err := mappingOf(s.resource, kinds)
	if err != nil {
		return nil //nolint:nilerr // the kind is told to be missing elsewhere
	}
	gk, namespace := kindNamed(s.resource), namespaceOf(u, s.resource)
	switch {
	case mapping.Namespaced && namespace == "":
		return fmt.Errorf("the operator runs with --namespaces, and sees %s in these alone: name one of them", gk)
	case mapping.Namespaced && !where.Covers(namespace):
		return fmt.Errorf("namespace %s is none of those that the operator runs with (--namespaces)", namespace)
	case mapping.Namespaced, gk == relation.DefinitionKind:
		return nil
	case gk == schema.GroupKind{Kind: "Namespace"}:
		ref := s.resource.ResourceRef
		if ref != nil && ref.Name != "" && where.Covers(ref.Name) {
			return nil
		}
		return errors.New("the operator runs with --namespaces: name one of these")
	default:
		return fmt.Errorf("%s objects are in no namespace, and the operator runs with --namespaces", gk)
	}
}

// isOutside reports whether the operator can't see what one of the sides stands for.
func (l *ledger) isOutside(u usage) bool {
	for _, s := range sides(u) {
		if outside(u, s, l.watcher) != nil {
			return true
		}
	}
	return false
}
