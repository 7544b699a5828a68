package usage

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
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

// all returns every Usage, from the cache. The objects are the cache's own.
func (p *parts) all() []usage {
	var found []usage
	for _, k := range kinds {
		list, err := listUsages(context.Background(), p.mgr.GetCache(), k, client.UnsafeDisableDeepCopy)
		if err != nil {
			continue // From the cache: it can only be too early, and then events follow.
		}
		found = append(found, list...)
	}
	return found
}

// grants returns the ReferenceGrants of a namespace, from the cache.
func (p *parts) grants(namespace string) []kinshipv1alpha1.ReferenceGrant {
	var list kinshipv1alpha1.ReferenceGrantList
	err := p.mgr.GetCache().List(context.Background(), &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil // Too early: no grant is known, and so nothing is granted.
	}
	return list.Items
}
