package usage

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
)

// listUsages reads all Usages of a kind.
func listUsages(ctx context.Context, reader client.Reader, k kind, opts ...client.ListOption) ([]usage, error) {
	list := k.newList()
	if err := reader.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("list %s objects: %w", k.GroupKind(), err)
	}
	found := make([]usage, 0, meta.LenList(list))
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		found = append(found, obj.(usage))
		return nil
	})
	return found, err
}

// get returns a Usage as the informers hold it, or nil. It is read only.
func (p *parts) get(id object.ID) usage {
	store, ok := p.stores[id.GroupKind()]
	if !ok {
		return nil
	}
	key := id.Name
	if id.Namespace != "" {
		key = id.Namespace + "/" + id.Name
	}
	item, exists, err := store.GetByKey(key)
	if err != nil || !exists { // A thread-safe store never returns an error.
		return nil
	}
	return item.(usage)
}

// all returns every Usage as the informers hold it. They are read only.
func (p *parts) all() []usage {
	var found []usage
	for _, k := range kinds {
		for _, item := range p.stores[k.GroupKind()].List() {
			found = append(found, item.(usage))
		}
	}
	return found
}

// number returns how many Usages a namespace has, as the informers hold them.
func (p *parts) number(namespace string) int {
	n := 0
	for _, u := range p.all() {
		if u.GetNamespace() == namespace {
			n++
		}
	}
	return n
}

// grants returns the ReferenceGrants of a namespace, as the informers hold them.
func (p *parts) grants(namespace string) []kinshipv1alpha1.ReferenceGrant {
	var found []kinshipv1alpha1.ReferenceGrant
	for _, item := range p.stores[grantKind].List() {
		if g := item.(*kinshipv1alpha1.ReferenceGrant); g.Namespace == namespace {
			found = append(found, *g)
		}
	}
	return found
}
