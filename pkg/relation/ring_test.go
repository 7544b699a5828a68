package relation_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// cluster implements Existing for tests of pure decisions. A kind that is not in read is
// Unknown.
type cluster struct {
	objects map[object.ID]relation.Object
	read    map[string]bool
}

// exists returns a cluster with ConfigMaps, and nothing known of other kinds.
func exists(objects ...relation.Object) cluster {
	c := cluster{objects: map[object.ID]relation.Object{}, read: map[string]bool{"ConfigMap": true}}
	for _, obj := range objects {
		c.objects[obj.ID] = obj
	}
	return c
}

// Get implements relation.Existing.
func (c cluster) Get(id object.ID) (relation.Object, relation.Presence) {
	obj, ok := c.objects[id]
	switch {
	case !c.read[id.Kind]:
		return relation.Object{ID: id}, relation.Unknown
	case !ok:
		return relation.Object{ID: id}, relation.Absent
	}
	return obj, relation.Present
}

// List implements relation.Existing.
func (c cluster) List(ref relation.Ref) (found []relation.Object, known bool) {
	for _, obj := range c.objects {
		if ref.Matches(obj) {
			found = append(found, obj)
		}
	}
	return found, c.read[ref.Kind]
}

// Members implements relation.Existing.
func (c cluster) Members(ref relation.Ref) (members iter.Seq[relation.Object], known bool) {
	objects, known := c.List(ref)
	return slices.Values(objects), known
}

// Ready implements relation.Existing.
func (c cluster) Ready(gk schema.GroupKind) bool { return c.read[gk.Kind] }

func inNS(name string) object.ID {
	return object.ID{Kind: "ConfigMap", Namespace: "ns", Name: name}
}

func link(i int) relation.Ref { return relation.Named(inNS(fmt.Sprint("cm", i))) }

// chain returns the Force for edges in which each object uses the next object.
func chain(length int) relation.Force {
	f := relation.Force{Declared: &relation.Index{}, Exists: exists()}
	for i := range length - 1 {
		declarer := object.ID{Kind: "Usage", Name: fmt.Sprint(i)}
		f.Declared.Set(declarer, []relation.Edge{{Declarer: declarer, Source: link(i), Target: link(i + 1)}})
	}
	return f
}

// TestRing: a search for a ring ends, with ErrTooMany if the search was not complete.
func TestRing(t *testing.T) {
	const most = 10_000
	over, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		reason string
		ctx    context.Context
		length int
		closed bool
		want   int // objects in the ring, the first object twice
		err    error
	}{
		"none":         {"the chain ends", t.Context(), 50, false, 0, nil},
		"closed":       {"all of it", t.Context(), 50, true, 51, nil},
		"longest":      {"just within the bound", t.Context(), most, true, most + 1, nil},
		"too long":     {"it may go on", t.Context(), most + 2, true, 0, relation.ErrTooMany},
		"out of time":  {"nobody waits for it", over, 50, true, 0, relation.ErrTooMany},
		"found anyway": {"it is the first looked at", over, 1, true, 2, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			edge := relation.Edge{Source: link(-1), Target: link(0)}
			if c.closed {
				edge.Source = link(c.length - 1)
			}
			ring, err := chain(c.length).Ring(c.ctx, edge)
			if len(ring) != c.want || !errors.Is(err, c.err) {
				t.Errorf("%s: a ring of %d, error %v; want %d, %v", c.reason, len(ring), err, c.want, c.err)
			}
		})
	}
}

// TestRingOverSelector: each member of a selector counts, and the ring names the member.
func TestRingOverSelector(t *testing.T) {
	app := map[string]string{"app": "x"}
	one := relation.Object{ID: inNS("one"), Labels: app}
	two := relation.Object{ID: inNS("two"), Labels: app}
	selected := relation.Ref{
		ID: object.ID{Kind: "ConfigMap", Namespace: "ns"}, Selector: &relation.Selector{Labels: app},
	}
	f := relation.Force{Declared: &relation.Index{}, Exists: exists(one, two)}
	back := object.ID{Kind: "Usage", Name: "back"}
	f.Declared.Set(back, []relation.Edge{{
		Declarer: back, Source: relation.Named(two.ID), Target: relation.Named(inNS("user")),
	}})
	ring, err := f.Ring(t.Context(), relation.Edge{Source: relation.Named(inNS("user")), Target: selected})
	want := []object.ID{inNS("user"), two.ID, inNS("user")}
	if diff := cmp.Diff(want, ring); diff != "" || err != nil {
		t.Errorf("error %v, ring (-want +got):\n%s", err, diff)
	}
}
