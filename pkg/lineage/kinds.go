package lineage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// kind is a kind in its preferred version.
type kind struct {
	relation.Mapping

	names     []string // plural, singular, kind and short names, in lower case
	hasStatus bool     // its status is a subresource
}

func (k kind) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Resource.Group, Kind: k.Kind}
}

// catalog is what the cluster serves, in the API server's order of precedence.
type catalog struct {
	kinds  []kind
	byKind map[schema.GroupKind][]relation.Mapping // preferred version first
}

// readCatalog reads discovery. Groups whose server is dead are returned as
// skipped, not as an error: they must not keep the others from being seen.
func readCatalog(ctx context.Context, d discovery.DiscoveryInterfaceWithContext) (*catalog, []Skipped, error) {
	groups, lists, err := d.ServerGroupsAndResourcesWithContext(ctx)
	var skipped []Skipped
	if failed, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); ok {
		for gv, cause := range failed.Groups {
			skipped = append(skipped, Skipped{Group: gv.Group, Resource: "*", Reason: cause.Error()})
		}
		err = nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read what kinds the cluster serves: %w", err)
	}
	byVersion := map[string]*metav1.APIResourceList{}
	for _, list := range lists {
		byVersion[list.GroupVersion] = list
	}
	c := &catalog{byKind: map[schema.GroupKind][]relation.Mapping{}}
	for _, group := range groups {
		for _, version := range preferredFirst(group) {
			if list := byVersion[version.GroupVersion]; list != nil {
				c.add(group.Name, version.Version, list.APIResources)
			}
		}
	}
	return c, skipped, nil
}

func preferredFirst(group *metav1.APIGroup) []metav1.GroupVersionForDiscovery {
	return slices.SortedStableFunc(slices.Values(group.Versions), func(a, b metav1.GroupVersionForDiscovery) int {
		rank := func(v metav1.GroupVersionForDiscovery) int {
			if v.Version == group.PreferredVersion.Version {
				return 0
			}
			return 1
		}
		return cmp.Compare(rank(a), rank(b))
	})
}

func (c *catalog) add(group, version string, resources []metav1.APIResource) {
	withStatus := map[string]bool{}
	for _, r := range resources {
		if name, ok := strings.CutSuffix(r.Name, "/status"); ok {
			withStatus[name] = true
		}
	}
	for _, r := range resources {
		if !kept(r) {
			continue
		}
		gk := schema.GroupKind{Group: group, Kind: r.Kind}
		mapping := relation.Mapping{
			Resource:   schema.GroupVersionResource{Group: group, Version: version, Resource: r.Name},
			Kind:       r.Kind,
			Namespaced: r.Namespaced,
		}
		if c.byKind[gk] = append(c.byKind[gk], mapping); len(c.byKind[gk]) > 1 {
			continue // The same objects in another version.
		}
		names := append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...)
		c.kinds = append(c.kinds, kind{Mapping: mapping, names: names, hasStatus: withStatus[r.Name]})
	}
}

// kept leaves out subresources and kinds whose objects are not kept, such as
// reviews and measurements.
func kept(r metav1.APIResource) bool {
	return !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
}

// Mapping implements relation.Kinds.
func (c *catalog) Mapping(gvk schema.GroupVersionKind) (relation.Mapping, error) {
	missing := &relation.KindError{Kind: gvk}
	for _, m := range c.byKind[gvk.GroupKind()] {
		if gvk.Version == "" || m.Resource.Version == gvk.Version {
			return m, nil
		}
		missing.Served = append(missing.Served, m.Resource.Version)
	}
	return relation.Mapping{}, missing
}

// kind returns a kind in its preferred version.
func (c *catalog) kind(gk schema.GroupKind) (kind, bool) {
	i := slices.IndexFunc(c.kinds, func(k kind) bool { return k.groupKind() == gk })
	if i < 0 {
		return kind{}, false
	}
	return c.kinds[i], true
}

// lookup returns the kinds that a person may mean by a name: plural, singular,
// kind or short name, with or without ".group" or ".version.group". Exact plurals
// come before short names, so that a new kind can't take an old one's name.
func (c *catalog) lookup(name string) []kind {
	short, qualifier, qualified := strings.Cut(strings.ToLower(name), ".")
	var exact, others []kind
	for _, k := range c.kinds {
		at := slices.Index(k.names, short)
		switch {
		case at < 0, qualified && !k.qualifies(qualifier):
		case at < 3:
			exact = append(exact, k)
		default:
			others = append(others, k)
		}
	}
	return append(exact, others...)
}

func (k kind) qualifies(qualifier string) bool {
	return qualifier == k.Resource.Group || qualifier == k.Resource.Version+"."+k.Resource.Group
}

// unownable are kinds that nobody owns and of which there are very many. Not to
// list them is most of what can be saved.
var unownable = []schema.GroupKind{{Kind: "Event"}, {Group: "events.k8s.io", Kind: "Event"}}

// ownable returns the kinds whose objects an object in a namespace can own, or
// all kinds for no namespace.
func (c *catalog) ownable(namespace string) []kind {
	var kinds []kind
	for _, k := range c.kinds {
		if (k.Namespaced || namespace == "") && !slices.Contains(unownable, k.groupKind()) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}
