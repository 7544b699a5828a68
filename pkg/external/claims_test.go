package external

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
)

// liar is a cloud that answers every Create with id r1.
type liar struct {
	*oneCloud

	creates *int
}

func (l liar) Create(context.Context, Input[netKind]) (string, error) {
	*l.creates++
	l.made["r1"] = l.clock.Now()
	return "r1", nil
}

// TestDuplicateID: an object whose Create returns the id of another object's resource has no resource, and
// calls Create less and less often (claimLost). The same id from another cloud is no conflict.
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

// TestClaims: a single object at a time has the claim on a resource.
func TestClaims(t *testing.T) {
	var woken []object.ID
	s := newRecords(func(id object.ID) { woken = append(woken, id) })
	learn := func(name string) *record { return s.learn(object.ID{Name: name}, types.UID(name)) }
	a, b, old := learn("a"), learn("b"), learn("old")
	of := func(cloud, id string) Resource { return Resource{networks.GroupKind(), id, cloud} }
	one := of("cloud", "1")
	here, there, foreign := claimed{one, "here", "1"}, claimed{one, "there", "1"},
		claimed{of("foreign", "1"), "here", "1"}
	check := func(reason string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %t", reason, got)
		}
	}
	check("nobody has it", s.claim(a, here, false), true)
	check("it may be said again", s.claim(a, here, false), true)
	check("it is another's", s.claim(b, here, false), false)
	subnet := claimed{Resource{subnets.GroupKind(), "1", "cloud"}, "here", "1"}
	check("another kind says nothing of it", s.claim(b, subnet, false), true)
	check("another cloud says nothing of it", s.claim(b, foreign, false), true)
	check("no cloud is recorded, so it may be any", s.claim(old, claimed{of("", "3"), "here", "3"}, false), true)
	check("it may be this cloud", s.isFree(a, of("cloud", "3")), false)
	s.drop(old)
	check("that one has no other there", s.isFree(b, foreign.Resource), true)
	check("nor has the first here", s.isFree(a, one), true)
	check("elsewhere the id means another", s.claim(b, there, false), true)
	check("two realms may be one under two names", s.isFree(a, one), false)
	check("nobody has this", s.isFree(b, of("cloud", "2")), true)
	if id := s.claimedID(a); id != "1" {
		t.Errorf("claimed is %q", id)
	}
	s.drop(b)
	s.drop(b)
	check("its own claim is no hindrance", s.isFree(a, one), true)
	s.drop(a)
	check("it was let go", s.claim(b, here, false), true)
	if id := s.claimedID(a); id != "" {
		t.Errorf("still claimed: %q", id)
	}
	check("it may have another one", s.claim(b, claimed{of("cloud", "2"), "here", "2"}, false), true)
	check("then it has left the first", s.claim(a, here, false), true)
	woken = nil
	check("it is another's", s.claim(b, here, true), false)
	s.drop(b)
	check("it is another's again", s.claim(b, here, true), false)
	check("an object that waits has it not", s.isFree(a, one), true)
	s.drop(a)
	if diff := cmp.Diff([]object.ID{{Name: "b"}}, woken); diff != "" {
		t.Errorf("woken once it is free (-want +got):\n%s", diff)
	}
	check("now it is free", s.claim(b, here, true), true)
	s.drop(b)
	woken = nil
	check("the status of another operator names no cloud", s.claim(old, claimed{of("", "1"), "here", "1"}, false), true)
	check("it may be that of this cloud", s.claim(a, here, true), false)
	s.drop(old)
	if diff := cmp.Diff([]object.ID{{Name: "a"}}, woken); diff != "" {
		t.Errorf("woken once the object without a cloud has left it (-want +got):\n%s", diff)
	}
	for _, r := range []*record{a, b, old} {
		s.forget(r)
	}
	if n := s.size(); n > 0 || len(woken) != 1 {
		t.Errorf("%d things are remembered, woken %v", n, woken)
	}
}

// TestLateClaim: an event from before a pass does not remove the claim of the pass (record.passed). An
// event of a later leader replaces the claim of an earlier event.
func TestLateClaim(t *testing.T) {
	s := newRecords(func(object.ID) {})
	r := s.learn(object.ID{Name: "a"}, "a")
	of := func(id string) claimed {
		return claimed{Resource: Resource{networks.GroupKind(), id, "cloud"}, text: id}
	}
	for _, step := range []struct {
		reason string
		do     func()
		want   string
	}{
		{"an event", func() { s.learnClaim(r, of("1")) }, "1"},
		{"a later event", func() { s.learnClaim(r, of("2")) }, "2"},
		{"a pass", func() { s.claim(r, of("3"), false) }, "3"},
		{"a late event", func() { s.learnClaim(r, of("2")) }, "3"},
		{"the resource is gone", func() { s.drop(r) }, ""},
		{"a late event of that time", func() { s.learnClaim(r, of("3")) }, "3"},
		{"the next pass", func() { s.claim(r, of("4"), true) }, "4"},
		{"a late event after it", func() { s.learnClaim(r, of("3")) }, "4"},
	} {
		if step.do(); s.claimedID(r) != step.want {
			t.Errorf("%s: claimed is %q, want %q", step.reason, s.claimedID(r), step.want)
		}
	}
}

// TestDetachedIsFree: the resource of a deleted object with onDelete detach is free for other objects,
// while a foreign finalizer keeps the deleted object (dropLearnt).
func TestDetachedIsFree(t *testing.T) {
	s := newSharers(t)
	s.r.kind.Shared = nil
	s.create("a", "b")
	n := s.read("a")
	n.Finalizers = append(n.Finalizers, "foreign.example.com/keeps")
	s.must(s.c.Update(t.Context(), n))
	s.watch("a")
	s.pass("a")
	n = s.read("a")
	n.Spec.ManagedOptions = &sharedv1alpha1.ManagedOptions{OnDelete: sharedv1alpha1.OnDeleteDetach}
	s.must(s.c.Update(t.Context(), n))
	s.delete("a")
	s.adopt("b")
	s.pass("a", "b")
	s.expect("the other object waits for the foreign finalizer", "create find", states{
		"a": "r1 Waiting for finalizer foreign.example.com/keeps to be removed",
		"b": "none resource r1 belongs to another object already",
	})
	s.must(s.c.Patch(t.Context(), s.read("a"), client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":["foreign.example.com/keeps"]}}`))))
	s.woken = nil
	s.watch("a")
	if !slices.Contains(s.woken, "b") {
		t.Errorf("woken: %v", s.woken)
	}
	s.pass("b")
	s.expect("the resource is free", "find", states{"b": "r1"})
	if n := s.read("a"); n == nil {
		t.Error("the foreign finalizer kept nothing")
	}
}
