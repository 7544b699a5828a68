package relation_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// The world of the properties is small, so that its objects meet.
var (
	someID = rapid.Custom(func(t *rapid.T) object.ID {
		return object.ID{
			Group: rapid.SampledFrom([]string{"", "g"}).Draw(t, "group"), Kind: "K",
			Namespace: rapid.SampledFrom([]string{"", "n", "m"}).Draw(t, "namespace"),
			Name:      rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"),
		}
	})
	someLabels = rapid.MapOfN(rapid.SampledFrom([]string{"k", "l"}), rapid.SampledFrom([]string{"", "1"}), 0, 2)
	someUID    = rapid.SampledFrom([]types.UID{"", "c1", "c2"})
	refs       = rapid.Custom(func(t *rapid.T) relation.Ref {
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			return relation.Ref{}
		case 1, 2:
			return relation.Named(someID.Draw(t, "id"))
		default:
			id := someID.Draw(t, "id")
			id.Name = ""
			return relation.Ref{ID: id, Selector: &relation.Selector{
				Labels: someLabels.Draw(t, "labels"), Controller: someUID.Draw(t, "controller"),
			}}
		}
	})
	objects = rapid.Custom(func(t *rapid.T) relation.Object {
		return relation.Object{
			ID: someID.Draw(t, "id"), Labels: someLabels.Draw(t, "labels"), Controller: someUID.Draw(t, "controller"),
		}
	})
)

// model is a simple and slow Index.
type model map[object.ID][]relation.Edge

func (m model) where(accept func(relation.Edge) bool) []relation.Edge {
	var found []relation.Edge
	for _, declarer := range slices.SortedFunc(maps.Keys(m), object.Compare) {
		for _, e := range m[declarer] {
			if accept(e) {
				found = append(found, e)
			}
		}
	}
	return found
}

func (m model) targetKinds() map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	for _, e := range m.where(func(e relation.Edge) bool { return !e.Target.IsZero() }) {
		kinds[e.Target.GroupKind()] = true
	}
	return kinds
}

// size returns what Index.Size returns: each named end once, each selector, and the edges.
func (m model) size() [2]int {
	named, selectors := map[object.ID]bool{}, 0
	all := m.where(func(relation.Edge) bool { return true })
	for _, e := range all {
		for _, end := range []relation.Ref{e.Source, e.Target} {
			switch {
			case end.Selector != nil:
				selectors++
			case !end.IsZero():
				named[end.ID] = true
			}
		}
	}
	return [2]int{len(named) + selectors, len(all)}
}

// declare generates the edges of one object. Fields are numbered: an object declares at most
// one edge of a relation in each of its fields.
func declare(t *rapid.T, declarer object.ID) []relation.Edge {
	edges := make([]relation.Edge, rapid.IntRange(0, 4).Draw(t, "edges"))
	for i := range edges {
		edges[i] = relation.Edge{
			Relation: "r", Role: relation.Usage, Declarer: declarer, Field: strconv.Itoa(i),
			Source: refs.Draw(t, "source"), Target: refs.Draw(t, "target"),
		}
		if i > 0 && rapid.Bool().Draw(t, "same ends") {
			edges[i].Source, edges[i].Target = edges[i-1].Source, edges[i-1].Target
		}
	}
	return edges
}

func TestIndexIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x relation.Index
		m := model{}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				id := someID.Draw(t, "declarer")
				edges := declare(t, id)
				checkEdges(t, "edges before", m[id], x.Set(id, edges))
				if m[id] = edges; len(edges) == 0 {
					delete(m, id)
				}
			},
			"": func(t *rapid.T) { compare(t, &x, m) },
		})
	})
}

func compare(t *rapid.T, x *relation.Index, m model) {
	obj := objects.Draw(t, "object")
	targets := func(e relation.Edge) bool { return !e.Target.IsZero() && e.Target.Matches(obj) }
	sources := func(e relation.Edge) bool { return !e.Source.IsZero() && e.Source.Matches(obj) }
	declarer := someID.Draw(t, "declarer")
	field := rapid.SampledFrom([]string{"0", "1", "2"}).Draw(t, "field")
	accept := func(e relation.Edge) bool { return e.Field == field }
	check := func(what string, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", what, diff)
		}
	}
	checkEdges(t, "Declared", m[declarer], x.Declared(declarer))
	check("Declarers", slices.SortedFunc(maps.Keys(m), object.Compare), x.Declarers())
	check("Len", len(m), x.Len())
	nodes, edges := x.Size()
	check("Size", m.size(), [2]int{nodes, edges})
	// The edges of one declarer are ordered by their ends; the model has them as a set.
	checkEdges(t, "Targeting", inOrder(m.where(targets)), x.Targeting(obj))
	checkEdges(t, "From", inOrder(m.where(sources)), x.From(obj))
	check("AnyTargeting", slices.ContainsFunc(m.where(targets), accept), x.AnyTargeting(obj, accept))
	kind := someID.Draw(t, "kind").GroupKind()
	ofKind := m.where(func(e relation.Edge) bool { return !e.Target.IsZero() && e.Target.GroupKind() == kind })
	ends := make([]relation.Ref, 0, len(ofKind))
	for _, e := range ofKind {
		ends = append(ends, e.Target)
	}
	check("Targets", distinct(ends), distinct(x.Targets(kind)))
	kinds := x.TargetKinds()
	check("TargetKinds", m.targetKinds(), asSet(kinds))
	if !slices.IsSortedFunc(kinds, func(a, b schema.GroupKind) int {
		return object.Compare(object.ID{Group: a.Group, Kind: a.Kind}, object.ID{Group: b.Group, Kind: b.Kind})
	}) {
		t.Fatalf("kinds are not in order: %v", kinds)
	}
}

func checkEdges(t *rapid.T, what string, want, got []relation.Edge) {
	t.Helper()
	same := func(a, b relation.Edge) bool { // As cmp.Equal, but a hundred times as fast.
		return a.Declarer == b.Declarer && a.Relation == b.Relation && a.Role == b.Role && a.Field == b.Field &&
			a.Source.Equal(b.Source) && a.Target.Equal(b.Target)
	}
	if !slices.EqualFunc(want, got, same) {
		t.Fatalf("%s (-want +got):\n%s", what, cmp.Diff(want, got, cmpopts.EquateEmpty()))
	}
}

// inOrder sorts edges by declarer, then source, target and field: the order that
// callers show to people.
func inOrder(edges []relation.Edge) []relation.Edge {
	slices.SortFunc(edges, func(a, b relation.Edge) int {
		for _, c := range []int{
			object.Compare(a.Declarer, b.Declarer), object.Compare(a.Source.ID, b.Source.ID),
			object.Compare(a.Target.ID, b.Target.ID),
		} {
			if c != 0 {
				return c
			}
		}
		return slices.Compare([]byte(a.Field), []byte(b.Field))
	})
	return edges
}

// distinct returns the ends in order, each once.
func distinct(refs []relation.Ref) []string {
	texts := make([]string, 0, len(refs))
	for _, r := range refs {
		texts = append(texts, r.String())
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func asSet(kinds []schema.GroupKind) map[schema.GroupKind]bool {
	set := map[schema.GroupKind]bool{}
	for _, gk := range kinds {
		set[gk] = true
	}
	return set
}

// TestIndexKeepsNothing shows that an index which has been emptied forgets the
// kinds too: a kind without edges is not watched for ever.
func TestIndexKeepsNothing(t *testing.T) {
	var x relation.Index
	target := object.ID{Kind: "K", Name: "t"}
	for i := range 10 {
		x.Set(declarer(i), []relation.Edge{{Target: relation.Named(target)}, {Target: relation.Named(target)}})
	}
	for i := range 10 {
		x.Set(declarer(i), nil)
	}
	if x.Len() != 0 || len(x.TargetKinds()) != 0 || len(x.Targeting(relation.Object{ID: target})) != 0 {
		t.Errorf("%d declarers and kinds %v are left", x.Len(), x.TargetKinds())
	}
}

// TestIndexGivesCopies: a caller that changes an answer does not change the Index.
func TestIndexGivesCopies(t *testing.T) {
	var x relation.Index
	target := object.ID{Kind: "K", Name: "t"}
	given := []relation.Edge{{Field: "f", Target: relation.Named(target)}}
	x.Set(declarer(0), given)
	given[0].Field = "spoiled"
	x.Declared(declarer(0))[0].Field = "spoiled"
	x.Targeting(relation.Object{ID: target})[0].Field = "spoiled"
	if got := x.Declared(declarer(0))[0].Field; got != "f" {
		t.Errorf("the field is %s", got)
	}
}

func declarer(i int) object.ID { return object.ID{Kind: "D", Name: fmt.Sprintf("%04d", i)} }

// TestIndexConcurrently is for the race detector. Readers see all edges of a declarer from
// before or from after a Set, never a mixture.
func TestIndexConcurrently(t *testing.T) {
	const writers, rounds = 4, 200
	var x relation.Index
	target := relation.Object{ID: object.ID{Kind: "K", Name: "t"}, Labels: map[string]string{"k": "v"}}
	pair := []relation.Edge{
		{Field: "0", Target: relation.Named(target.ID)},
		{Field: "1", Target: relation.Ref{
			ID: object.ID{Kind: "K"}, Selector: &relation.Selector{Labels: target.Labels},
		}},
	}
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for round := range rounds {
				x.Set(declarer(w), pair[:2*(round%2)])
			}
			x.Set(declarer(w), pair)
		})
		running.Go(func() {
			for range rounds {
				if n := len(x.Targeting(target)); n%2 != 0 {
					t.Errorf("%d edges: half a Set is visible", n)
				}
				x.AnyTargeting(target, func(relation.Edge) bool { return false })
				x.TargetKinds()
				x.Declarers()
				x.Declared(declarer(w))
			}
		})
	}
	running.Wait()
	if n := len(x.Targeting(target)); n != 2*writers {
		t.Errorf("%d edges at the end, want %d", n, 2*writers)
	}
}

// TestIndexMetrics: the gauges of each pack have the size of its Index.
func TestIndexMetrics(t *testing.T) {
	var x, none relation.Index
	registry := prometheus.NewRegistry()
	for pack, index := range map[string]*relation.Index{"toy": &x, "empty": &none} {
		if err := registry.Register(index.Metrics(pack)); err != nil {
			t.Fatal(err)
		}
	}
	target := relation.Named(object.ID{Kind: "K", Name: "t"})
	x.Set(declarer(0), []relation.Edge{{Field: "0", Source: target, Target: target}, {Field: "1", Target: target}})
	want := map[string]float64{
		"kinship_graph_nodes toy": 1, "kinship_graph_edges toy": 2,
		"kinship_graph_nodes empty": 0, "kinship_graph_edges empty": 0,
	}
	if diff := cmp.Diff(want, gather(t, registry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
