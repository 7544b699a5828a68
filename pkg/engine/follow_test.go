package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// outage is a discovery whose first calls fail.
type outage struct {
	discovery.DiscoveryInterfaceWithContext

	fails, calls int
}

// ServerGroupsAndResourcesWithContext implements discovery.ServerResourcesInterfaceWithContext.
func (o *outage) ServerGroupsAndResourcesWithContext(
	context.Context,
) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	if o.calls++; o.calls <= o.fails {
		return nil, nil, errors.New("the API server does not answer")
	}
	return nil, nil, nil
}

// TestOpenSoonInOutage: an installed kind is looked for until discovery answers, however long that
// takes. Where discovery does not have the kind, the next definition is waited for.
func TestOpenSoonInOutage(t *testing.T) {
	for _, fails := range []int{0, 2, 20} {
		synctest.Test(t, func(t *testing.T) {
			api := &outage{fails: fails}
			e := New(nil, Options{Name: "example.com", Catalog: watch.NewCatalog(api, nil)})
			e.Add(Kind{GVK: pods})
			e.openSoon(t.Context(), func() []string { return nil })
			if want := max(fails+1, len(pauses)); api.calls != want {
				t.Errorf("%d failures: %d calls, want %d", fails, api.calls, want)
			}
		})
	}
}

// lateDiscovery is a discovery that lists Secrets, and lists Ships in its first calls only.
type lateDiscovery struct {
	discovery.DiscoveryInterfaceWithContext

	lists, calls int
}

// ServerGroupsAndResourcesWithContext implements discovery.ServerResourcesInterfaceWithContext.
func (d *lateDiscovery) ServerGroupsAndResourcesWithContext(
	context.Context,
) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	kinds := []schema.GroupVersionKind{secrets}
	if d.calls++; d.calls <= d.lists {
		kinds = append(kinds, ships)
	}
	groups := make([]*metav1.APIGroup, 0, len(kinds))
	resources := make([]*metav1.APIResourceList, 0, len(kinds))
	for _, k := range kinds {
		version := metav1.GroupVersionForDiscovery{GroupVersion: k.GroupVersion().String(), Version: k.Version}
		groups = append(groups, &metav1.APIGroup{
			Name: k.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
		})
		resources = append(resources, &metav1.APIResourceList{
			GroupVersion: version.GroupVersion, APIResources: []metav1.APIResource{{
				Name: strings.ToLower(k.Kind) + "s", Kind: k.Kind, Verbs: metav1.Verbs{"list", "watch"},
			}},
		})
	}
	return groups, resources, nil
}

// closings is a cache that records the kinds that RemoveInformer was called for.
type closings struct {
	cache.Cache

	closed []string
}

// RemoveInformer implements cache.Informers.
func (c *closings) RemoveInformer(_ context.Context, obj client.Object) error {
	c.closed = append(c.closed, obj.GetObjectKind().GroupVersionKind().Kind)
	return nil
}

// closingManager is a manager with a cache that records.
type closingManager struct {
	manager.Manager

	cache closings
}

// GetCache implements cluster.Cluster.
func (m *closingManager) GetCache() cache.Cache { return &m.cache }

var ships = schema.GroupVersionKind{Group: "harbour.example", Version: "v1", Kind: "Ship"}

// TestDeletedDefinition: a kind is closed once discovery drops it, though the watch showed the deletion of its
// definition before that. A kind without a definition, such as Secret, stays open.
func TestDeletedDefinition(t *testing.T) {
	for _, late := range []int{0, 1, 5} {
		synctest.Test(t, func(t *testing.T) {
			api, mgr := &lateDiscovery{lists: 1 + late}, &closingManager{}
			e := New(mgr, Options{
				Name: "example.com", Catalog: watch.NewCatalog(api, nil), Discover: func(watch.Mapping) {},
			})
			for gvk, definition := range map[schema.GroupVersionKind]string{secrets: "secrets", ships: "ships.harbour.example"} {
				e.Add(Kind{GVK: gvk, Example: metadataOf(gvk)})
				m := e.member(gvk.GroupKind())
				m.cache.Store(&objects{newStore(), func() bool { return true }})
				m.definition, m.controlled = definition, true
			}
			definition := metadataOf(definitionKind)
			definition.SetName("ships.harbour.example")
			e.observeDefinition(watch.Change[client.Object]{New: definition})
			e.openSoon(t.Context(), func() []string { return []string{definition.GetName()} })
			if api.calls != 1 || len(mgr.cache.closed) > 0 {
				t.Errorf("%d calls while discovery is not late, and closed kinds %q", api.calls, mgr.cache.closed)
			}
			e.observeDefinition(watch.Change[client.Object]{Old: definition})
			e.openSoon(t.Context(), func() []string { return nil })
			if diff := cmp.Diff([]string{"Ship"}, mgr.cache.closed); diff != "" {
				t.Errorf("discovery late by %d calls: closed kinds (-want +got):\n%s", late, diff)
			}
			if n := e.undropped(); n != 0 {
				t.Errorf("%d definitions are remembered after discovery dropped their kinds", n)
			}
		})
	}
}

// TestPassesWaitForKinds: the passes over a kind wait for the kinds that its objects may refer to, but not for a kind
// whose definition was deleted.
func TestPassesWaitForKinds(t *testing.T) {
	for name, kind := range map[string]struct{ waiting, unread schema.GroupVersionKind }{
		"target": {pods, claims}, "itself": {claims, claims},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := newEngine(nil)
			m, unread := e.member(kind.waiting.GroupKind()), e.member(kind.unread.GroupKind())
			unread.cache.Store(&objects{newStore(), func() bool { return false }})
			if e.passesMayBegin(m) {
				t.Error("the passes begin")
			}
			unread.cache.Store(nil)
			if !e.passesMayBegin(m) {
				t.Error("waits for a kind whose definition was deleted")
			}
		})
	}
}

// TestGuardsWaitForSources: a guard waits for the kinds that may refer to its target.
func TestGuardsWaitForSources(t *testing.T) {
	open := toClaim
	open.Target = schema.GroupKind{}
	listed := open
	listed.Targets = []schema.GroupKind{claims.GroupKind()}
	owner := open
	owner.Finalizer = ""
	for name, c := range map[string]struct {
		relation       relation.Relation
		claims, secret bool
	}{
		"one target":     {toClaim, true, false},
		"any target":     {open, true, true},
		"listed targets": {listed, true, false},
		"no guard":       {owner, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := newEngine(nil, func(r *relation.Relation) { *r = c.relation })
			e.member(pods.GroupKind()).Relations = []relation.Relation{c.relation}
			for kind, want := range map[schema.GroupKind]bool{claims.GroupKind(): c.claims, secrets.GroupKind(): c.secret} {
				if got := len(e.sourceKinds(e.member(kind))) > 0; got != want {
					t.Errorf("%s waits for Pods: %v, want %v", kind.Kind, got, want)
				}
			}
		})
	}
}
