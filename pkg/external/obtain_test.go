package external

import (
	"context"
	"testing"
	"time"
)

// TestPossession is the truth table of possession.decide.
func TestPossession(t *testing.T) {
	for name, c := range map[string]struct {
		facts possession
		want  obtaining
	}{
		"known":                      {possession{known: true, managed: true}, readKnown},
		"known, imported":            {possession{known: true, imports: true}, readKnown},
		"known, shared":              {possession{known: true, managed: true, shared: true}, readKnown},
		"gone":                       {possession{known: true, missing: true, managed: true}, createOne},
		"gone, shared":               {possession{known: true, missing: true, managed: true, shared: true}, createShared},
		"gone, adopted":              {possession{known: true, missing: true, managed: true, imports: true}, importOne},
		"gone, unmanaged":            {possession{known: true, missing: true, imports: true}, refuseDeleted},
		"gone, moved":                {possession{known: true, missing: true, elsewhere: true, managed: true}, refuseMoved},
		"gone, moved, unmanaged":     {possession{known: true, missing: true, elsewhere: true, imports: true}, refuseMoved},
		"new":                        {possession{managed: true}, createOne},
		"new, unmanaged":             {possession{imports: true}, importOne},
		"new, to adopt":              {possession{managed: true, imports: true}, importOne},
		"new, shared":                {possession{managed: true, shared: true}, createShared},
		"new, shared, to adopt":      {possession{managed: true, shared: true, imports: true}, importOne},
		"new, credentials elsewhere": {possession{elsewhere: true, managed: true}, createOne},
	} {
		if got := c.facts.decide(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// newPlaced returns sharers without [Kind.Shared] whose credentials lead to *place.
func newPlaced(t *testing.T) (s *sharers, place *string) {
	t.Helper()
	s, place = newSharers(t), new("here")
	k := &s.r.kind
	k.Shared, s.r.engine.Cloud = nil, "the cloud"
	k.Connect = func(context.Context, Input[netKind]) (Access[netKind, string], error) {
		return Access[netKind, string]{Actuator: s.cloud, Scope: *place, Place: *place}, nil
	}
	return s, place
}

const led = ", and the credentials lead to there: have them lead back, or delete the object with " +
	"managedOptions.onDelete detach to leave there what is there"

// TestMoved: a resource that is missing at another place than status.place may exist at status.place. The
// resource is neither created again nor taken for deleted, until the credentials lead back.
func TestMoved(t *testing.T) {
	s, place := newPlaced(t)
	s.create("a")
	s.pass("a")
	s.expect("created", "create", states{"a": "r1"})
	if got := s.read("a").Status.Place; got != "here" {
		t.Errorf("status.place is %q", got)
	}
	kept := s.cloud.made
	*place, s.cloud.made = "there", map[string]time.Time{}
	s.edit("a")
	s.pass("a")
	const moved = "r1 resource is in here" + led
	s.expect("the credentials lead to another place", "get", states{"a": moved})
	s.delete("a")
	s.pass("a")
	s.expect("nothing is deleted at another place", "delete", states{"a": moved})
	*place, s.cloud.made = "here", kept
	s.pass("a")
	s.expect("the credentials lead back", "delete", states{"a": "gone"})
	s.forgotten()
}

// TestMovedName: an id that a person chose, such as the name of a key pair, is another resource at another
// place. No request is sent for such a resource ([Kind.Realm]).
func TestMovedName(t *testing.T) {
	s, place := newPlaced(t)
	s.r.kind.Realm = func(netKind) string { return *place }
	s.create("a")
	s.pass("a")
	*place = "there"
	s.edit("a")
	s.pass("a")
	const moved = "r1 resource is in here" + led
	s.expect("r1 there is another resource", "create", states{"a": moved})
	s.delete("a")
	s.pass("a")
	s.expect("nothing is deleted at another place", "", states{"a": moved})
	*place = "here"
	s.pass("a")
	s.expect("the credentials lead back", "delete", states{"a": "gone"})
}

// TestMovedAttempt: after a Create without an answer, the resource may be at the place of that Create. No
// second Create is sent to another place.
func TestMovedAttempt(t *testing.T) {
	s, place := newPlaced(t)
	s.create("a")
	s.cloud.on = func(call string, after bool) error {
		if call == "create" && after {
			return &Error{Class: Transient, Message: "no answer"}
		}
		return nil
	}
	s.pass("a")
	kept := s.cloud.made
	*place, s.cloud.made, s.cloud.on = "there", map[string]time.Time{}, nil
	s.pass("a")
	s.expect("the attempt was made elsewhere", "create find",
		states{"a": "none resource may have been made in here" + led})
	*place, s.cloud.made = "here", kept
	s.pass("a")
	s.expect("found at the place of the attempt", "find", states{"a": "r1"})
}

// TestImportedDeleted: the resource of an imported object was made by another client, and is not created
// again.
func TestImportedDeleted(t *testing.T) {
	s, _ := newPlaced(t)
	s.cloud.made["theirs"] = s.clock.Now()
	s.importer("a")
	s.pass("a")
	s.expect("imported", "find", states{"a": "theirs"})
	clear(s.cloud.made)
	s.r.engine.records.of(s.id("a"), s.read("a").UID).noteAlteration(s.clock.Now())
	s.pass("a", "a")
	s.expect("it is gone", "get", states{"a": "theirs resource has been deleted from the cloud"})
}

// TestHolds: of two objects whose status names one resource, the second loses its id, so that its deletion
// leaves the resource alone. Another operator of the same API, or a person, may write such a status.
func TestHolds(t *testing.T) {
	s, _ := newPlaced(t)
	s.create("owner")
	s.pass("owner")
	s.create("a")
	n := s.read("a")
	n.Status.ID = new("r1")
	s.must(s.c.Status().Update(t.Context(), n))
	s.watch("a")
	s.pass("a")
	s.expect("the owner has the resource", "create get",
		states{"owner": "r1", "a": "none resource r1 belongs to another object already"})
	s.delete("a")
	s.pass("a")
	s.expect("the resource stays", "", states{"a": "gone", "owner": "r1"})
}

// TestUnfinished: an import leaves a resource to the object that is still completing the resource, for at
// most longestUnfinished.
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
