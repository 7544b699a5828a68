package usage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// grantKind is the kind that lets Usages name objects of other namespaces.
var grantKind = kinshipv1alpha1.GroupVersion.WithKind("ReferenceGrant").GroupKind()

// usageStore holds the informers' stores of Usages and ReferenceGrants. Its objects are shared and
// must not be changed.
type usageStore struct {
	stores map[schema.GroupKind]toolscache.Store
	synced []toolscache.InformerSynced
}

// open adds the informer of a kind, and a handler of its events.
func (s *usageStore) open(
	ctx context.Context, c cache.Cache, gk schema.GroupKind, obj client.Object, handler toolscache.ResourceEventHandler,
) error {
	informer, err := watch.Open(ctx, c, gk, obj)
	if err != nil {
		return err
	}
	synced, err := informer.Listen(handler)
	if err != nil {
		return fmt.Errorf("watch %s: %w", gk, err)
	}
	if s.stores == nil {
		s.stores = map[schema.GroupKind]toolscache.Store{}
	}
	s.stores[gk], s.synced = informer.GetStore(), append(s.synced, synced)
	return nil
}

// wait waits until the handlers have seen every Usage and ReferenceGrant that existed at the start.
// wait reports false if the context ends before. Until then a Usage that exists may be unknown.
func (s *usageStore) wait(ctx context.Context) bool {
	return toolscache.WaitForCacheSync(ctx.Done(), s.synced...)
}

// check fails until wait would return at once. check is a readiness check.
func (s *usageStore) check(*http.Request) error {
	if slices.ContainsFunc(s.synced, func(synced toolscache.InformerSynced) bool { return !synced() }) {
		return errors.New("still reading Usages")
	}
	return nil
}

// get returns a Usage, or nil.
func (s *usageStore) get(id object.ID) usage {
	store, ok := s.stores[id.GroupKind()]
	if !ok {
		return nil
	}
	item, exists, err := store.GetByKey(toolscache.NewObjectName(id.Namespace, id.Name).String())
	if err != nil || !exists { // A thread-safe store never returns an error.
		return nil
	}
	return item.(usage)
}

// all returns every Usage.
func (s *usageStore) all() []usage {
	var found []usage
	for _, k := range kinds {
		for _, item := range s.stores[k.GroupKind()].List() {
			found = append(found, item.(usage))
		}
	}
	return found
}

// ids returns the ID of every Usage.
func (s *usageStore) ids() []object.ID {
	return lists.Map(s.all(), identify)
}

// number returns how many Usages a namespace has.
func (s *usageStore) number(namespace string) int {
	n := 0
	for _, u := range s.all() {
		if u.GetNamespace() == namespace {
			n++
		}
	}
	return n
}

// grants returns the ReferenceGrants of a namespace.
func (s *usageStore) grants(namespace string) []kinshipv1alpha1.ReferenceGrant {
	var found []kinshipv1alpha1.ReferenceGrant
	for _, item := range s.stores[grantKind].List() {
		if g := item.(*kinshipv1alpha1.ReferenceGrant); g.Namespace == namespace {
			found = append(found, *g)
		}
	}
	return found
}

// listUsages reads Usages of a kind.
func listUsages(ctx context.Context, reader client.Reader, k kind, opts ...client.ListOption) ([]usage, error) {
	list := k.newList()
	if err := reader.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("list %s objects: %w", k.GroupKind(), err)
	}
	items, err := meta.ExtractList(list)
	return lists.Map(items, func(obj runtime.Object) usage { return obj.(usage) }), err
}

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
