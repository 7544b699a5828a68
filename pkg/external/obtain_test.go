package external

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// TestMade: what somebody else has made is never taken for one's own.
func TestMade(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	hourAgo, soon := noon.Add(-time.Hour), noon.Add(time.Second)
	cases := map[string]struct {
		reason        string
		who           Identity
		attempt       time.Time
		began         time.Time
		dated, marked bool
		want          bool
	}{
		"after":           {"it was made since the attempt", Identity{Created: soon}, noon, hourAgo, true, false, true},
		"before":          {"it was there already", Identity{Created: hourAgo}, noon, hourAgo, true, false, false},
		"at that moment":  {"times have no fractions", Identity{Created: noon}, noon, hourAgo, true, false, true},
		"clock behind":    {"clocks differ", Identity{Created: noon.Add(1 - clockSkew)}, noon, hourAgo, true, false, true},
		"clock too far":   {"not by so much", Identity{Created: noon.Add(-clockSkew)}, noon, hourAgo, true, false, false},
		"older than both": {"an intent may be backdated", Identity{Created: hourAgo}, time.Time{}, noon, true, false, false},
		"says nothing":    {"without a date it may be of any day", Identity{}, noon, hourAgo, true, false, false},
		"another's":       {"it names its object", Identity{Created: soon, Marker: "uid"}, noon, hourAgo, true, false, false},
		"no mark":         {"ours would have one", Identity{Created: soon}, noon, hourAgo, true, true, false},
		"undated, new":    {"it was not there before", Identity{ID: "new"}, noon, hourAgo, false, false, true},
		"undated, old":    {"it was there before", Identity{ID: "old"}, noon, hourAgo, false, false, false},
		"undated, marked": {"ours would have a mark", Identity{ID: "new"}, noon, hourAgo, false, true, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			i := &intent{Time: c.attempt, Before: []string{"old"}}
			if got := made(i, c.who, c.began, c.dated, c.marked); got != c.want {
				t.Errorf("%s: %t, want %t", c.reason, got, c.want)
			}
		})
	}
}

// TestUnfinished: an import leaves a resource to the object that is still completing it, but
// not for ever.
func TestUnfinished(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for reason, c := range map[string]struct {
		who  Identity
		want bool
	}{
		"another object has just made it": {Identity{Marker: "other", Unfinished: true, Created: noon}, true},
		"nothing tells when it was made":  {Identity{Marker: "other", Unfinished: true}, true},
		"its mark is where it stays":      {Identity{Marker: "other", Created: noon}, false},
		"the object itself has made it":   {Identity{Marker: "ours", Unfinished: true, Created: noon}, false},
		"whoever made it has left it long ago": {
			Identity{Marker: "other", Unfinished: true, Created: noon.Add(-longestUnfinished)}, false,
		},
		"it has no mark, as what a person makes ": {Identity{Created: noon}, false},
	} {
		if got := isUnfinished(c.who, "ours", noon); got != c.want {
			t.Errorf("%s: %t", reason, got)
		}
	}
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
