package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// TestUnreadableKind: a kind that can't be read stops the passes over another kind only if an object refers to it,
// and no longer than its definition exists.
func TestUnreadableKind(t *testing.T) {
	toAny := reference("PodAny", "spec.volumes[*].persistentVolumeClaim.claimName", claims)
	toAny.Target = schema.GroupKind{}
	for name, c := range map[string]struct {
		pods []string
		want bool
	}{
		"no object":             {nil, true},
		"an object refers":      {[]string{"data"}, false},
		"an object without any": {[]string{""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := New(nil, Options{Name: "example.com"})
			stored := newStore()
			e.Add(Kind{GVK: pods, Example: &corev1.Pod{}, Relations: []relation.Relation{toAny}, Store: stored})
			e.Add(Kind{GVK: claims, Example: &corev1.PersistentVolumeClaim{}})
			unreadable := e.member(claims.GroupKind())
			unreadable.cache.Store(&objects{newStore(), func() bool { return false }})
			for _, claim := range c.pods {
				pod := newPod("a", claim)
				if claim == "" {
					pod.Spec.Volumes = nil
				}
				if err := stored.Add(pod); err != nil {
					t.Fatal(err)
				}
				e.Observe(pods.GroupKind(), watch.Change[client.Object]{New: pod})
			}
			m := e.member(pods.GroupKind())
			if got := areHeard(append(e.targets(m), m)) && e.hearsTargets(m); got != c.want {
				t.Errorf("begins: %v, want %v", got, c.want)
			}
			unreadable.cache.Store(nil)
			if !e.hearsTargets(m) {
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
