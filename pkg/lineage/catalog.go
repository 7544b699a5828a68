package lineage

import (
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

// catalog holds the kinds that the cluster serves.
type catalog struct {
	*watch.Catalog
}

// readCatalog reads discovery. API groups whose server does not answer are returned as
// [Skipped] and not as an error, so that the other groups can be shown.
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
	return c, skipped, nil
}

// lookup returns the kinds that a name can mean: a plural, singular, kind or short name,
// with or without ".group" or ".version.group". Kinds with a short name come last, so
// that a new CustomResourceDefinition does not take over a name such as "deployments".
func (c catalog) lookup(name string) []kind {
	short, qualifier, qualified := strings.Cut(strings.ToLower(name), ".")
	var exact, others []kind
	for _, k := range c.Served() {
		at := slices.Index(k.Names, short)
		switch {
		case at < 0, qualified && !isQualifier(k, qualifier):
		case at < 3: // Kind.Names begins with plural, singular and kind.
			exact = append(exact, k)
		default:
			others = append(others, k)
		}
	}
	return append(exact, others...)
}

func isQualifier(k kind, qualifier string) bool {
	return qualifier == k.Resource.Group || qualifier == k.Resource.Version+"."+k.Resource.Group
}

// unownable are kinds without owners and with very many objects: listing Events would be
// most of the cost of a question.
var unownable = []schema.GroupKind{{Kind: "Event"}, {Group: "events.k8s.io", Kind: "Event"}}

// ownable returns the kinds whose objects can have an owner in a namespace. An empty
// namespace means all kinds.
func (c catalog) ownable(namespace string) []kind {
	return slices.DeleteFunc(c.Served(), func(k kind) bool {
		return (!k.Namespaced && namespace != "") || slices.Contains(unownable, k.GroupKind())
	})
}
