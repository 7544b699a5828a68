package usage

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// grants returns the ReferenceGrants of a namespace.
type grants func(namespace string) []kinshipv1alpha1.ReferenceGrant

// ledger is the [relation.Ledger] of Usages: ledger decides which edges of a Usage are
// permitted.
type ledger struct {
	relation.Ledger

	watcher *relation.Watcher
	// admission says that webhooks check Usages, so that the operator can trust annotation
	// kinship.dev/authority and status.refused.
	admission bool
	// get returns a Usage from the store of its informer, or nil.
	get func(object.ID) usage
	// grants are the ReferenceGrants in the informer's store.
	grants grants
}

// newLedger returns a ledger of the objects that a watcher sees. The caller sets get, grants and
// the fields of the Waker.
func newLedger(watcher *relation.Watcher) *ledger {
	l := &ledger{watcher: watcher}
	l.Force = relation.Force{Declared: &relation.Index{}, Exists: watcher}
	l.Use, l.Declaration = watcher.Use, l.declaration
	l.Get = func(id object.ID) client.Object {
		if u := l.get(id); u != nil {
			return u
		}
		return nil
	}
	return l
}

// declaration implements [relation.Ledger.Declaration].
func (l *ledger) declaration(obj client.Object) (d relation.Declaration) {
	u := obj.(usage)
	if l.isOutside(u) {
		return d
	}
	if l.permitted(u, l.grants) {
		d.Edges = extract(u, l.watcher)
	}
	for _, s := range sides(u) {
		if gk := groupKindOf(s.resource); !isVolatile(gk) { // Without admission, nothing has refused such a Usage.
			d.Kinds = append(d.Kinds, gk)
		}
		if ref := selectedBy(u, s.resource, l.watcher); ref.Selector != nil && len(d.Edges) == 0 {
			d.Choices = append(d.Choices, ref)
		}
	}
	for _, e := range d.Edges {
		if gk := e.Target.GroupKind(); !slices.Contains(d.Kinds, gk) {
			d.Kinds = append(d.Kinds, gk)
		}
	}
	return d
}

// kindChanged updates the Usages of a kind that was installed, read, failed or removed.
func (l *ledger) kindChanged(gk schema.GroupKind) {
	l.KindChanged(gk, slices.DeleteFunc(l.watcher.Users(gk), func(user object.ID) bool {
		_, ok := kindOf(user.GroupKind()) // guard.Rules and other packs use kinds too.
		return !ok
	})...)
}

// permitted reports whether a Usage may protect its used object: the author of the Usage could
// delete the object at the time of admission, or a ReferenceGrant allows the Usage now.
//
// Without admission the author is unknown. Then a Usage in a namespace may protect objects of
// its own namespace, and objects that a ReferenceGrant allows.
func (l *ledger) permitted(u usage, grants grants) bool {
	if !reachesOut(u) {
		return l.admission || u.GetNamespace() == "" || l.isNamespaced(&u.UsageSpec().Of)
	}
	return (l.admission && u.GetAnnotations()[authorityAnnotation] == authorityAuthor) || l.granted(u, grants)
}

// isNamespaced reports whether the objects that spec.of or spec.by names live in namespaces.
// isNamespaced is true of a kind that is not served, because no object of the kind can be
// protected.
func (l *ledger) isNamespaced(r *sharedv1alpha1.Resource) bool {
	mapping, err := mappingOf(r, l.watcher)
	return err != nil || mapping.Namespaced
}

// granted reports whether a ReferenceGrant allows the object that a Usage protects. No
// ReferenceGrant can allow a cluster-scoped object.
func (l *ledger) granted(u usage, grants grants) bool {
	to := grantedTarget(u)
	mapping, err := mappingOf(&u.UsageSpec().Of, l.watcher)
	return err == nil && mapping.Namespaced && to.Namespace != "" &&
		authorise.Granted(grants(to.Namespace), identify(u), to)
}

// reachesOut reports whether a Usage protects an object in another namespace than its own.
func reachesOut(u usage) bool {
	return u.GetNamespace() != "" && namespaceOf(u, &u.UsageSpec().Of) != u.GetNamespace()
}

// grantedTarget returns the object that spec.of names, in the form that a ReferenceGrant is
// compared with. grantedTarget needs no knowledge of the kinds that the cluster serves.
func grantedTarget(u usage) relation.Ref {
	of := &u.UsageSpec().Of
	gk := groupKindOf(of)
	ref := relation.Ref{ID: object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: namespaceOf(u, of)}}
	if of.ResourceRef != nil && of.ResourceRef.Name != "" {
		ref.Name = of.ResourceRef.Name
	} else {
		ref.Selector = &relation.Selector{}
	}
	return ref
}
