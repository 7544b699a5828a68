package oam_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/oam"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// watched returns a Watched in which a WorkloadDefinition has the kinds of children that kinds returns.
func watched(t *testing.T, kinds func() []oamv1alpha2.ChildResourceKind) *oam.Watched {
	t.Helper()
	watcher, err := relation.NewWatcher(testenv.Config(t), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	watcher.Keep(func(u *unstructured.Unstructured) client.Object { return u })
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- watcher.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &oam.Watched{Watcher: watcher, Definition: func(name string) *oamv1alpha2.WorkloadDefinition {
		if name != "mydbs.standard.oam.dev" || kinds == nil {
			return nil
		}
		return &oamv1alpha2.WorkloadDefinition{Spec: oamv1alpha2.WorkloadDefinitionSpec{ChildResourceKinds: kinds()}}
	}}
}

// TestUnits finds the same children as TestChildren in the stores of a Watcher.
func TestUnits(t *testing.T) {
	_, namespace := world(t)
	id := object.ID{Group: "standard.oam.dev", Kind: "Mydb", Namespace: namespace, Name: "db"}
	missing := id
	missing.Name = "none"
	user := object.ID{Kind: "Trait", Namespace: namespace, Name: "trait"}
	service := oamv1alpha2.ChildResourceKind{APIVersion: "v1", Kind: "Service"}
	front := service
	front.Selector = map[string]string{"tier": "front"}
	for name, c := range map[string]struct {
		kinds             []oamv1alpha2.ChildResourceKind
		members, targeted []string
	}{
		"a kind":      {[]oamv1alpha2.ChildResourceKind{service}, []string{"db", "back", "front"}, []string{"back", "front"}},
		"a selector":  {[]oamv1alpha2.ChildResourceKind{front}, []string{"db", "front"}, []string{"front"}},
		"no children": {nil, []string{"db"}, []string{"db"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := watched(t, func() []oamv1alpha2.ChildResourceKind { return c.kinds })
			var unit oam.Unit
			testenv.Eventually(t, func() error {
				all := w.Units(user, id, missing)
				if all[missing].Workload != nil || len(all[missing].Members()) > 0 {
					t.Errorf("there is a workload %v", all[missing].Workload)
				}
				if unit = all[id]; unit.Workload == nil || !isListed(w, unit.Kinds) {
					return fmt.Errorf("the kinds %v are not listed", unit.Kinds)
				}
				return nil
			})
			if diff := cmp.Diff(c.members, names(unit.Members())); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.targeted, names(unit.Targets())); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]object.ID{user}, w.Users("mydbs.standard.oam.dev")); diff != "" {
				t.Errorf("users of the definition (-want +got):\n%s", diff)
			}
			w.Units(user)
			if users := w.Users("mydbs.standard.oam.dev"); len(users) > 0 {
				t.Errorf("the definition has the users %v", users)
			}
			if users := w.Watcher.Users(id.GroupKind()); len(users) > 0 {
				t.Errorf("the kind has the users %v", users)
			}
		})
	}
}

func isListed(w *oam.Watched, kinds []schema.GroupKind) bool {
	return !slices.ContainsFunc(kinds, func(gk schema.GroupKind) bool { return !w.Watcher.Ready(gk) })
}

// names returns the name of a workload, and then the names of its children in order.
func names(all []relation.Object) []string {
	list := make([]string, 0, len(all))
	for _, o := range all {
		list = append(list, o.ID.Name)
	}
	if len(list) > 1 && all[0].ID.Kind == "Mydb" {
		slices.Sort(list[1:])
	} else {
		slices.Sort(list)
	}
	return list
}
