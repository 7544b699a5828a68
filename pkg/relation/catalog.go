package relation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
)

// Kinds tells which kinds the cluster serves.
type Kinds interface {
	// Mapping returns where objects of a kind are found. An empty version means
	// any. The error is a *KindError when the cluster does not serve the kind.
	Mapping(gvk schema.GroupVersionKind) (Mapping, error)
}

// Mapping is where objects of a kind are found.
type Mapping struct {
	Resource   schema.GroupVersionResource
	Kind       string
	Namespaced bool
}

// KindError says that the cluster does not serve a kind, or not in a version.
type KindError struct {
	Kind   schema.GroupVersionKind
	Served []string // versions of the kind that are served
}

// Error implements error.
func (e *KindError) Error() string {
	if len(e.Served) > 0 {
		return fmt.Sprintf("%s is not served in version %s, but in %v", e.Kind.GroupKind(), e.Kind.Version, e.Served)
	}
	return fmt.Sprintf("no kind %s in this cluster", e.Kind.GroupKind())
}

// catalog is a snapshot of what the cluster serves, replaced as a whole. A
// lookup takes no lock and sends no request, unlike that of a RESTMapper.
type catalog struct {
	discovery discovery.DiscoveryInterfaceWithContext
	kinds     atomic.Pointer[map[schema.GroupKind][]Mapping] // preferred version first
}

func (c *catalog) refresh(ctx context.Context) error {
	groups, err := restmapper.GetAPIGroupResourcesWithContext(ctx, c.discovery)
	if err != nil {
		return fmt.Errorf("read what kinds the cluster serves: %w", err)
	}
	kinds := map[schema.GroupKind][]Mapping{}
	for _, g := range groups {
		addGroup(kinds, g)
	}
	c.kinds.Store(&kinds)
	return nil
}

func addGroup(kinds map[schema.GroupKind][]Mapping, g *restmapper.APIGroupResources) {
	versions := []string{g.Group.PreferredVersion.Version}
	for _, v := range g.Group.Versions {
		if v.Version != versions[0] {
			versions = append(versions, v.Version)
		}
	}
	for _, version := range versions {
		for _, r := range g.VersionedResources[version] {
			if !watchable(r.Verbs) {
				continue
			}
			gk := schema.GroupKind{Group: g.Group.Name, Kind: r.Kind}
			kinds[gk] = append(kinds[gk], Mapping{
				Resource:   schema.GroupVersionResource{Group: gk.Group, Version: version, Resource: r.Name},
				Kind:       r.Kind,
				Namespaced: r.Namespaced,
			})
		}
	}
}

// watchable leaves out subresources and kinds that can be created but not kept,
// such as reviews.
func watchable(verbs []string) bool {
	list, watch := false, false
	for _, v := range verbs {
		list = list || v == "list"
		watch = watch || v == "watch"
	}
	return list && watch
}

// Mapping implements Kinds.
func (c *catalog) Mapping(gvk schema.GroupVersionKind) (Mapping, error) {
	kinds := c.kinds.Load()
	if kinds == nil {
		return Mapping{}, &KindError{Kind: gvk}
	}
	missing := &KindError{Kind: gvk}
	for _, m := range (*kinds)[gvk.GroupKind()] {
		if gvk.Version == "" || m.Resource.Version == gvk.Version {
			return m, nil
		}
		missing.Served = append(missing.Served, m.Resource.Version)
	}
	return Mapping{}, missing
}

func (c *catalog) served() []Mapping {
	kinds := c.kinds.Load()
	if kinds == nil {
		return nil
	}
	all := make([]Mapping, 0, len(*kinds))
	for _, versions := range *kinds {
		all = append(all, versions[0])
	}
	slices.SortFunc(all, func(a, b Mapping) int {
		return cmp.Compare(a.Resource.GroupResource().String(), b.Resource.GroupResource().String())
	})
	return all
}
