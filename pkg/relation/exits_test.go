package relation_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestRingAfterChanges: while objects change their labels and declarers their edges, [relation.Force.Ring] finds a ring
// exactly if a search through every object finds one, and each object of the ring needs the next. Before the Waker is
// told of a change, a ring may be overlooked, and no ring is found that is none.
func TestRingAfterChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := exists()
		w := relation.Waker{
			Force: relation.Force{Declared: &relation.Index{}, Exists: store}, Mark: locked{},
			Declarer: func(object.ID) {}, Target: func(object.ID) {},
		}
		w.HoldBatches()
		names, apps := rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.SampledFrom([]string{"x", "y"})
		end := func(role string) relation.Ref {
			if rapid.Bool().Draw(t, role+" is named") {
				return relation.Named(inNS(names.Draw(t, role)))
			}
			return matching("app", apps.Draw(t, role))
		}
		var untold []relation.Change
		for range rapid.IntRange(20, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				untold = append(untold, changeObject(t, store, inNS(names.Draw(t, "object")), apps.Draw(t, "app")))
			case 3:
				for _, c := range untold {
					w.Changed(c)
				}
				untold = nil
			case 1:
				id := declarer(rapid.IntRange(0, 3).Draw(t, "declarer"))
				var edges []relation.Edge
				if rapid.IntRange(0, 3).Draw(t, "no edge") > 0 {
					edges = []relation.Edge{{Declarer: id, Source: end("source"), Target: end("target")}}
				}
				w.Declare(id, edges)
			default:
				checkRing(t, w.Force, relation.Edge{Source: end("asked source"), Target: end("asked target")}, len(untold) == 0)
			}
		}
	})
}

// changeObject gives an object a label, or deletes the object, and returns the change.
func changeObject(t *rapid.T, store cluster, id object.ID, label string) (c relation.Change) {
	if old, had := store.objects[id]; had {
		c.Old = &old
	}
	if c.Old != nil && rapid.Bool().Draw(t, "delete") {
		delete(store.objects, id)
	} else {
		c.New = &relation.Object{ID: id, Labels: app(label)}
		store.objects[id] = *c.New
	}
	return c
}

// checkRing compares Ring with a search that follows every edge from every object. If the Waker knows every change,
// Ring overlooks nothing.
func checkRing(t *rapid.T, f relation.Force, asked relation.Edge, knowsAll bool) {
	stands := func(ref relation.Ref, id object.ID) bool {
		obj, has := f.Exists.(cluster).objects[id]
		return ref.ID == id || (has && ref.Matches(obj))
	}
	everything, edges := []object.ID{inNS("a"), inNS("b"), inNS("c"), inNS("d")}, []relation.Edge{asked}
	for _, declarer := range f.Declared.Declarers() {
		edges = slices.Concat(edges, f.Declared.Declared(declarer))
	}
	needs := func(a, b object.ID) bool {
		return slices.ContainsFunc(edges, func(e relation.Edge) bool { return stands(e.Source, a) && stands(e.Target, b) })
	}
	reached := slices.DeleteFunc(slices.Clone(everything), func(id object.ID) bool { return !stands(asked.Target, id) })
	for i := 0; i < len(reached); i++ {
		for _, id := range everything {
			if needs(reached[i], id) && !slices.Contains(reached, id) {
				reached = append(reached, id)
			}
		}
	}
	want := slices.ContainsFunc(reached, func(id object.ID) bool { return stands(asked.Source, id) })
	ring, err := f.Ring(t.Context(), asked)
	if isFound := ring != nil; err != nil || (isFound != want && (isFound || knowsAll)) {
		t.Fatalf("%v: ring %v, error %v; want a ring: %t", asked, ring, err, want)
	}
	for i := 1; i < len(ring); i++ {
		if !needs(ring[i-1], ring[i]) {
			t.Fatalf("%v: ring %v: %s does not need %s", asked, ring, ring[i-1], fmt.Sprint(ring[i]))
		}
	}
}
