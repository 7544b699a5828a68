package usage

import (
	"slices"

	"github.com/kinship-dev/kinship/pkg/object"
)

// trim has Usages share what they have in common. Of ten thousand, nearly all
// are about the same two kinds and in the same condition.
func trim(obj any) {
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
	trimDetails(u, described)
	status.Conditions = slices.Clip(slices.Clone(status.Conditions)) // Decoding leaves room for as many again.
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.Type, c.Reason = share(c.Type), share(c.Reason)
		if c.Message != described { // Nobody else says that.
			c.Message = share(c.Message)
		}
	}
}

// asDescribed stands in the cache for details that say what the spec does. It is not
// UTF-8, so nobody can have written it.
const asDescribed = "\xff"

// trimDetails has Usages share their annotations that have no others than details which
// say what the spec does. An object may be trimmed more than once.
func trimDetails(u usage, described string) {
	if a := u.GetAnnotations(); len(a) == 1 && a[detailsAnnotation] == described {
		a[detailsAnnotation] = asDescribed
		u.SetAnnotations(object.ShareMap(a))
	}
}

// restore gives a Usage out of the cache, which is the caller's own, its details back.
func restore(u usage) {
	if annotations := u.GetAnnotations(); annotations[detailsAnnotation] == asDescribed {
		annotations[detailsAnnotation] = describe(u)
	}
}
