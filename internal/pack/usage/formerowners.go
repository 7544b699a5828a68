package usage

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// dropFormerOwners removes owner references of a Usage that name the using object with another uid
// than the object has, and reports whether there were new references to judge. A backup has such
// references: a restored object gets a new uid. The garbage collector would delete the Usage for
// them, and the protection would end without an event.
//
// The uid is read from the API server, because the cache may be late. If the read fails, the
// reference is removed, too: bindUsing adds the using object later.
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

// refersTo reports whether an owner reference names an object, with any uid and version.
func refersTo(o metav1.OwnerReference, to relation.Ref) bool {
	gvk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
	return o.Name == to.Name && gvk.GroupKind() == to.GroupKind()
}
