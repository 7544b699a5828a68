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
	}
	details := u.GetAnnotations()[detailsAnnotation]
	status.Conditions = slices.Clip(slices.Clone(status.Conditions)) // Decoding leaves room for as many again.
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.Type, c.Reason = share(c.Type), share(c.Reason)
		if c.Message == details {
			c.Message = details
		} else {
			c.Message = share(c.Message)
		}
	}
}
