package usage

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// dropFormer takes those owner references off a Usage which name the using object by a uid that
// the object does not have, and reports whether there were references to judge. A backup has
// such references: a restored object has another uid. The garbage collector would delete the
// Usage for them, and the protection would end without a word.
//
// The API server is asked for the uid, as the cache may be late. Where it has no answer the
// reference goes too: the reconciler adds the using object when it sees that.
func (v *validator) dropFormer(ctx context.Context, u, old usage) bool {
	source, ok := v.usingObject(u)
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
	live, err := v.ledger.watcher.Live(ctx, source.ID)
	u.SetOwnerReferences(slices.DeleteFunc(slices.Clone(owners), func(o metav1.OwnerReference) bool {
		return added(o) && (err != nil || o.UID != live.UID)
	}))
	if err == nil {
		own(u, live)
	}
	return true
}

// usingObject returns the one object that spec.by names, if it names one.
func (v *validator) usingObject(u usage) (relation.Ref, bool) {
	by := u.UsageSpec().By
	if by == nil {
		return relation.Ref{}, false
	}
	source, err := end(u, by, v.ledger.watcher)
	return source, err == nil && !source.IsZero() && source.Selector == nil
}

// refersTo reports whether an owner reference names an object, by whatever uid. The version plays
// no role.
func refersTo(o metav1.OwnerReference, to relation.Ref) bool {
	gvk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
	return o.Name == to.Name && gvk.GroupKind() == to.GroupKind()
}
