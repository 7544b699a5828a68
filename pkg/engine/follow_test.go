package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

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
