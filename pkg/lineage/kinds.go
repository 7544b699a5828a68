package lineage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/kinship-dev/kinship/pkg/watch"
)

// kind is a kind in its preferred version.
type kind = watch.Kind

// catalog is what the cluster serves.
type catalog struct {
	*watch.Catalog
}

// readCatalog reads discovery. Groups whose server is dead are returned as
// skipped, not as an error: they must not keep the others from being seen.
func readCatalog(ctx context.Context, d discovery.DiscoveryInterfaceWithContext) (catalog, []Skipped, error) {
	c := catalog{watch.NewCatalog(d, nil)}
	if err := c.Refresh(ctx); err != nil {
		return catalog{}, nil, fmt.Errorf("look at the cluster: %w", err)
	}
	silent := c.Silent()
	skipped := make([]Skipped, 0, len(silent))
	for gv, cause := range silent {
		skipped = append(skipped, Skipped{Group: gv.Group, Resource: "*", Reason: cause.Error()})
	}
	slices.SortFunc(skipped, func(a, b Skipped) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Reason, b.Reason))
	})
	return c, skipped, nil
}

// lookup returns the kinds that a person may mean by a name: plural, singular,
// kind or short name, with or without ".group" or ".version.group". Exact plurals
// come before short names, so that a new kind can't take an old one's name.
func (c catalog) lookup(name string) []kind {
	short, qualifier, qualified := strings.Cut(strings.ToLower(name), ".")
	var exact, others []kind
	for _, k := range c.Served() {
		at := slices.Index(k.Names, short)
		switch {
		case at < 0, qualified && !qualifies(k, qualifier):
		case at < 3:
			exact = append(exact, k)
		default:
			others = append(others, k)
		}
	}
	return append(exact, others...)
}

func qualifies(k kind, qualifier string) bool {
	return qualifier == k.Resource.Group || qualifier == k.Resource.Version+"."+k.Resource.Group
}

// unownable are kinds that nobody owns and of which there are very many. Not to
// list them is most of what can be saved.
var unownable = []schema.GroupKind{{Kind: "Event"}, {Group: "events.k8s.io", Kind: "Event"}}

// ownable returns the kinds whose objects an object in a namespace can own, or
// all kinds for no namespace.
func (c catalog) ownable(namespace string) []kind {
	var kinds []kind
	for _, k := range c.Served() {
		if (k.Namespaced || namespace == "") && !slices.Contains(unownable, k.GroupKind()) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}
