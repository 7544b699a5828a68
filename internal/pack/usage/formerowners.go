package usage

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// dropFormerOwners removes the ownerReferences of a Usage that name the using object with
// another UID than the object has, and reports whether there were new ownerReferences to check.
// A backup has such ownerReferences, because a restored object gets a new UID. The garbage
// collector would delete the Usage for them, and the protection would end without an event.
//
// The UID is read from the API server, because the cache may be late. If the read fails, the
// ownerReference is removed, too: bindUsing adds the using object later.
func (h *usageHandler) dropFormerOwners(ctx context.Context, u, old usage) bool {
	source, ok := h.usingObject(u)
	if !ok {
		return false
	}
	known := map[types.UID]bool{}
	if old != nil {
		for _, o := range old.GetOwnerReferences() {
			known[o.UID] = true
		}
	}
	added := func(o metav1.OwnerReference) bool { return !known[o.UID] && refersTo(o, source) }
	owners := u.GetOwnerReferences()
	if !slices.ContainsFunc(owners, added) {
		return false
	}
	live, err := h.ledger.watcher.Live(ctx, source.ID)
	u.SetOwnerReferences(slices.DeleteFunc(slices.Clone(owners), func(o metav1.OwnerReference) bool {
		return added(o) && (err != nil || o.UID != live.UID)
	}))
	if err == nil {
		addOwner(u, live)
	}
	return true
}

// usingObject returns the object that spec.by names by name.
func (h *usageHandler) usingObject(u usage) (relation.Ref, bool) {
	by := u.UsageSpec().By
	if by == nil {
		return relation.Ref{}, false
	}
	source, err := refOf(u, by, h.ledger.watcher)
	return source, err == nil && !source.IsZero() && source.Selector == nil
}

// refersTo reports whether an ownerReference names an object, with any UID and version.
func refersTo(o metav1.OwnerReference, to relation.Ref) bool {
	gvk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
	return o.Name == to.Name && gvk.GroupKind() == to.GroupKind()
}
