package usage

import (
	"slices"

	"github.com/kinship-dev/kinship/pkg/object"
)

// shareStrings has Usages in the cache share equal strings. Of ten thousand Usages, nearly all name
// the same two kinds and have the same conditions.
func shareStrings(obj any) {
	share := object.Share
	u, ok := obj.(usage)
	if !ok {
		return
	}
	for _, s := range sides(u) {
		s.resource.APIVersion, s.resource.Kind = share(s.resource.APIVersion), share(s.resource.Kind)
		if ref := s.resource.ResourceRef; ref != nil {
			ref.Namespace = share(ref.Namespace)
		}
	}
	status := u.UsageStatus()
	if b := status.Using; b != nil {
		b.Group, b.Kind, b.Namespace = share(b.Group), share(b.Kind), share(b.Namespace)
		if by := u.UsageSpec().By; by != nil && by.ResourceRef != nil && by.ResourceRef.Name == b.Name {
			b.Name = by.ResourceRef.Name
		}
		owners := u.GetOwnerReferences()
		for i := range owners {
			if owners[i].UID == b.UID && owners[i].Name == b.Name {
				owners[i].UID, owners[i].Name = b.UID, b.Name
			}
		}
	}
	described := describe(u)
	shareDetails(u, described)
	status.Conditions = slices.Clip(slices.Clone(status.Conditions)) // Decoding leaves spare capacity.
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.Type, c.Reason = share(c.Type), share(c.Reason)
		if c.Message != described { // No other Usage has this message.
			c.Message = share(c.Message)
		}
	}
}

// asDescribed stands in the cache for a details annotation that equals describe of the spec.
// asDescribed is not UTF-8, so no client can have written it.
const asDescribed = "\xff"

// shareDetails has Usages share the map of their annotations if it has only a details annotation
// that equals describe of the spec. shareDetails may be called more than once for one object.
func shareDetails(u usage, described string) {
	if a := u.GetAnnotations(); len(a) == 1 && a[detailsAnnotation] == described {
		a[detailsAnnotation] = asDescribed
		u.SetAnnotations(object.ShareMap(a))
	}
}

// restoreDetails undoes shareDetails for a copy of a Usage from the cache.
func restoreDetails(u usage) {
	if annotations := u.GetAnnotations(); annotations[detailsAnnotation] == asDescribed {
		annotations[detailsAnnotation] = describe(u)
	}
}
