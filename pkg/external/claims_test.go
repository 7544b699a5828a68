package external

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// liar is a cloud that says of all that it makes that it is r1.
type liar struct {
	*oneCloud

	creates *int
}

func (l liar) Create(context.Context, Input[netKind]) (string, error) {
	*l.creates++
	l.made["r1"] = l.clock.Now()
	return "r1", nil
}

// TestDuplicateID: an object whose cloud tells the id of another one's resource has nothing,
// and asks less and less often. What another cloud tells is nothing to it.
func TestDuplicateID(t *testing.T) {
	s, creates := newSharers(t), 0
	cloud := map[string]string{"a": "ours", "b": "ours", "c": "another"}
	s.r.kind.Shared, s.r.kind.Dated, s.r.kind.Marked = nil, false, true
	s.r.kind.Connect = func(_ context.Context, in Input[netKind]) (Access[netKind, string], error) {
		return Access[netKind, string]{Actuator: liar{s.cloud, &creates}, Scope: "scope", Cloud: cloud[in.Object.Name]}, nil
	}
	s.r.engine.Cloud = "OpenStack"
	s.create("c", "a", "b")
	s.pass("c", "a")
	const lie = "OpenStack has created resource r1, which belongs to another object already"
	for n := range 3 {
		before := creates
		result, err := s.r.Reconcile(t.Context(), s.id("b"))
		s.watch("b")
		if err == nil || result.RequeueAfter != 0 {
			t.Errorf("pass %d: it is tried again after %s, without back-off: %v", n, result.RequeueAfter, err)
		}
		if creates > before+1 {
			t.Errorf("pass %d: it was asked for %d times", n, creates-before)
		}
	}
	s.cloud.calls = nil
	s.expect("one cloud, one owner", "", states{"a": "r1", "b": fmt.Sprint("none ", lie), "c": "r1"})
}

// TestClaims: a resource is one object's at a time.
func TestClaims(t *testing.T) {
	var c claims
	const a, b = types.UID("a"), types.UID("b")
	one := resourceID{"cloud", "1"}
	here, there, foreign := claimed{one, "here"}, claimed{one, "there"}, claimed{resourceID{"foreign", "1"}, "here"}
	check := func(reason string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %t", reason, got)
		}
	}
	check("nobody has it", c.claim(here, a), true)
	check("it may be said again", c.claim(here, a), true)
	check("it is another's", c.claim(here, b), false)
	check("another cloud says nothing of it", c.claim(foreign, b), true)
	check("no cloud is recorded, so it may be any", c.claim(claimed{resourceID{"", "3"}, "here"}, "old"), true)
	check("it may be this cloud", c.free(resourceID{"cloud", "3"}, a), false)
	c.drop("old")
	check("that one has no other there", c.free(foreign.resourceID, b), true)
	check("nor has the first here", c.free(one, a), true)
	check("elsewhere the id means another", c.claim(there, b), true)
	check("two realms may be one under two names", c.free(one, a), false)
	check("nobody has this", c.free(resourceID{"cloud", "2"}, b), true)
	if id := c.of(a); id != "1" {
		t.Errorf("claimed is %q", id)
	}
	c.drop(b)
	c.drop(b)
	check("its own claim is no hindrance", c.free(one, a), true)
	c.drop(a)
	check("it was let go", c.claim(here, b), true)
	if id := c.of(a); id != "" {
		t.Errorf("still claimed: %q", id)
	}
	check("it may have another one", c.claim(claimed{resourceID{"cloud", "2"}, "here"}, b), true)
	check("then it has left the first", c.claim(here, a), true)
	var woken []object.ID
	c.wake = func(id object.ID) { woken = append(woken, id) }
	check("it is another's", c.ask(here, b, object.ID{Name: "b"}), false)
	c.drop(b)
	check("it is another's again", c.ask(here, b, object.ID{Name: "b"}), false)
	check("who waits has it not", c.free(one, a), true)
	c.drop(a)
	if diff := cmp.Diff([]object.ID{{Name: "b"}}, woken); diff != "" {
		t.Errorf("who is woken once it is free (-want +got):\n%s", diff)
	}
	check("now it is free", c.ask(here, b, object.ID{Name: "b"}), true)
	c.drop(b)
	if len(c.owner)+len(c.taken)+len(c.waiting) > 0 || len(woken) != 1 {
		t.Errorf("remembered for nobody: %v %v %v, woken %v", c.owner, c.taken, c.waiting, woken)
	}
}
