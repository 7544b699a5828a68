package authorise

import (
	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Granted reports whether a ReferenceGrant in the namespace of the target allows an object to
// refer to the target. A target with Ref.Selector needs a ReferenceGrant without to.name.
func Granted(grants []kinshipv1alpha1.ReferenceGrant, from object.ID, to relation.Ref) bool {
	for i := range grants {
		g := &grants[i]
		if g.Namespace == to.Namespace && permitsFrom(g, from) && permitsTo(g, to) {
			return true
		}
	}
	return false
}

func permitsFrom(g *kinshipv1alpha1.ReferenceGrant, from object.ID) bool {
	for _, f := range g.Spec.From {
		if f.Group == from.Group && f.Kind == from.Kind && f.Namespace == from.Namespace {
			return true
		}
	}
	return false
}

func permitsTo(g *kinshipv1alpha1.ReferenceGrant, to relation.Ref) bool {
	for _, t := range g.Spec.To {
		if t.Group != to.Group || t.Kind != to.Kind {
			continue
		}
		if t.Name == nil || (to.Selector == nil && *t.Name == to.Name) {
			return true
		}
	}
	return false
}
