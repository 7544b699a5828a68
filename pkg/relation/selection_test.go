package relation_test

import (
	"iter"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestSelectionIsTheList: what Force remembers of a selector always equals a new list, whatever changes come. A change
// is told after it is in the store, as an informer tells it.
func TestSelectionIsTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := exists()
		store.read["K"] = true
		w := relation.Waker{
			Force: relation.Force{Declared: &relation.Index{}, Exists: store}, Mark: locked{},
			Declarer: func(object.ID) {}, Target: func(object.ID) {},
		}
		w.HoldBatches()
		target := relation.Object{ID: object.ID{Kind: "Target", Name: "t"}}
		t.Repeat(map[string]func(*rapid.T){
			"declare": func(t *rapid.T) {
				declarer := object.ID{Kind: "Usage", Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "declarer")}
				w.Declared.Set(declarer, []relation.Edge{{
					Declarer: declarer, Source: refs.Draw(t, "source"), Target: relation.Named(target.ID),
				}})
			},
			"change": func(t *rapid.T) {
				obj := objects.Draw(t, "object")
				c := relation.Change{New: &obj}
				if old, had := store.objects[obj.ID]; had {
					c.Old = &old
				}
				if rapid.Bool().Draw(t, "delete") {
					c.New = nil
					delete(store.objects, obj.ID)
				} else {
					store.objects[obj.ID] = obj
				}
				if c.Old != nil || c.New != nil {
					w.Changed(c)
				}
			},
			"unread": func(t *rapid.T) { store.read["K"] = rapid.Bool().Draw(t, "read") },
			"": func(t *rapid.T) {
				if got, want := w.On(target), decided(w.Force, target); got != want {
					t.Fatalf("the hold is %d, want %d", got, want)
				}
			},
		})
	})
}

func app(name string) map[string]string { return map[string]string{"app": name} }

// decided is Force.On without any memory.
func decided(f relation.Force, target relation.Object) relation.Hold {
	hold := relation.Free
	for _, e := range f.Declared.Targeting(target) {
		switch f.Of(e) {
		case relation.Held:
			return relation.Held
		case relation.Undecided:
			hold = relation.Undecided
		case relation.Free:
		}
	}
	return hold
}

// counted is an Existing that counts the searches for members.
type counted struct {
	cluster

	mu       *sync.Mutex
	searches *int
	// during, if set, is called between the search and its answer.
	during func()
}

func (c counted) Members(ref relation.Ref) (members iter.Seq[relation.Object], known bool) {
	c.mu.Lock()
	*c.searches++
	c.mu.Unlock()
	members, known = c.cluster.Members(ref)
	if c.during != nil {
		c.during()
	}
	return members, known
}

// TestSelectionIsNotListedAgain: 300 edges with one selector, and 100 questions, need one search, with a member and
// without.
func TestSelectionIsNotListedAgain(t *testing.T) {
	member := relation.Object{ID: inNS("member"), Labels: map[string]string{"app": "x"}}
	for name, objects := range map[string][]relation.Object{"a member": {member}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			searches := 0
			f := relation.Force{
				Declared: &relation.Index{}, Exists: counted{cluster: exists(objects...), mu: &sync.Mutex{}, searches: &searches},
			}
			target := relation.Object{ID: inNS("target")}
			for i := range 300 {
				f.Declared.Set(declarer(i), []relation.Edge{{
					Declarer: declarer(i), Source: matching("app", "x"), Target: relation.Named(target.ID),
				}})
			}
			for range 100 {
				if got, want := f.On(target) == relation.Held, len(objects) > 0; got != want {
					t.Fatalf("held %t, want %t", got, want)
				}
			}
			if searches != 1 {
				t.Errorf("%d searches, want 1", searches)
			}
		})
	}
}

func matching(key, value string) relation.Ref {
	return relation.Ref{
		ID:       object.ID{Kind: "ConfigMap", Namespace: "ns"},
		Selector: &relation.Selector{Labels: map[string]string{key: value}},
	}
}

// TestSelectionLearnsNothingOld: an object that comes during a search is not missed, although the search has not
// seen the object.
func TestSelectionLearnsNothingOld(t *testing.T) {
	searches := 0
	store := counted{cluster: exists(), mu: &sync.Mutex{}, searches: &searches}
	w := relation.Waker{Mark: locked{}, Declarer: func(object.ID) {}, Target: func(object.ID) {}}
	w.Declared = &relation.Index{}
	store.during = func() {
		if searches == 1 {
			member := relation.Object{ID: inNS("member"), Labels: map[string]string{"app": "x"}}
			store.objects[member.ID] = member
			w.Changed(relation.Change{New: &member})
		}
	}
	w.Exists = store
	target := relation.Object{ID: inNS("target")}
	w.Declared.Set(declarer(0), []relation.Edge{{Source: matching("app", "x"), Target: relation.Named(target.ID)}})
	got := []relation.Hold{w.On(target), w.On(target)}
	if diff := cmp.Diff([]relation.Hold{relation.Free, relation.Held}, got); diff != "" {
		t.Errorf("first and second answer (-want +got):\n%s", diff)
	}
}

// TestWakerMembership: only a change of the selected objects wakes the declarers of a selector.
func TestWakerMembership(t *testing.T) {
	var heard woken
	w := relation.Waker{
		Force: relation.Force{Declared: &relation.Index{}, Exists: exists()}, Mark: locked{},
		Declarer: heard.add, Target: func(object.ID) {},
	}
	w.Declared.Set(declarer(0), []relation.Edge{{Declarer: declarer(0), Source: matching("app", "x"), Target: link(1)}})
	w.Declared.Set(declarer(1), []relation.Edge{{Declarer: declarer(1), Source: link(2), Target: matching("app", "x")}})
	state := func(app, other string) *relation.Object {
		return &relation.Object{ID: inNS("member"), Labels: map[string]string{"app": app, "other": other}}
	}
	going := state("x", "")
	going.Deleting = true
	both := []string{"D/0000", "D/0001"}
	for _, c := range []struct {
		reason string
		change relation.Change
		want   []string
	}{
		{"another label", relation.Change{Old: state("x", "1"), New: state("x", "2")}, nil},
		{"never a member", relation.Change{Old: state("y", "1"), New: state("z", "1")}, nil},
		{"a member now", relation.Change{Old: state("y", ""), New: state("x", "")}, both},
		{"no member now", relation.Change{Old: state("x", ""), New: state("y", "")}, both},
		{"its deletion begins", relation.Change{Old: state("x", ""), New: going}, both},
		{"deleted", relation.Change{Old: state("x", "")}, both},
		{"another is deleted", relation.Change{Old: state("y", "")}, nil},
	} {
		w.Changed(c.change)
		if diff := cmp.Diff(c.want, heard.takeWoken()); diff != "" {
			t.Errorf("%s: woken (-want +got):\n%s", c.reason, diff)
		}
	}
}

// TestWakerTransitions: a declarer that found its selection empty is woken when the selection gets a member, however
// late the changes are told. While the selection keeps a member, nobody is woken.
func TestWakerTransitions(t *testing.T) {
	rapid.Check(t, checkTransitions)
}

func checkTransitions(t *rapid.T) {
	store, asleep := exists(), true
	w := relation.Waker{
		Force: relation.Force{Declared: &relation.Index{}, Exists: store}, Mark: locked{}, Target: func(object.ID) {},
	}
	w.HoldBatches()
	wakes := 0
	ref := matching("app", "x")
	// The declarer waits while it sees no member.
	w.Declarer = func(object.ID) {
		wakes++
		found, _ := store.List(ref)
		asleep = len(found) == 0
	}
	w.Declared.Set(declarer(0), []relation.Edge{{Declarer: declarer(0), Source: ref, Target: link(1)}})
	var pending []relation.Change
	version := 0
	tell := func() {
		w.Changed(pending[0])
		pending = pending[1:]
	}
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		if len(pending) > 0 && rapid.Bool().Draw(t, "tell") {
			tell()
			continue
		}
		version++
		obj := relation.Object{
			ID: inNS(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")), Version: strconv.Itoa(version),
			Labels: app(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "app")),
		}
		c := relation.Change{New: &obj}
		if old, had := store.objects[obj.ID]; had {
			c.Old = &old
		}
		if store.objects[obj.ID] = obj; c.Old != nil && rapid.Bool().Draw(t, "delete") {
			c.New = nil
			delete(store.objects, obj.ID)
		}
		pending = append(pending, c)
	}
	for len(pending) > 0 {
		tell()
	}
	if found, _ := store.List(ref); asleep == (len(found) > 0) {
		t.Errorf("the selection has %d members, and the declarer waits: %t", len(found), asleep)
	}
	steady := relation.Object{ID: inNS("steady"), Labels: app("x"), Version: strconv.Itoa(version + 1)}
	store.objects[steady.ID] = steady
	w.Changed(relation.Change{New: &steady})
	before := wakes
	for i := range 5 {
		obj := relation.Object{
			ID: inNS("toggled"), Version: strconv.Itoa(version + 2 + i), Labels: app([]string{"x", "y"}[i%2]),
		}
		c := relation.Change{New: &obj}
		if old, had := store.objects[obj.ID]; had {
			c.Old = &old
		}
		store.objects[obj.ID] = obj
		w.Changed(c)
	}
	if wakes != before {
		t.Errorf("%d wakes while the selection keeps a member", wakes-before)
	}
}
