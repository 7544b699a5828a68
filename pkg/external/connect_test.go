package external

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/pkg/object"
)

// newQueued returns sharers without [Kind.Shared] whose kind has a single turn at each site.
func newQueued(t *testing.T) *sharers {
	t.Helper()
	s := newSharers(t)
	s.r.engine.Cloud, s.r.kind.Shared = "the cloud", nil
	s.r.kind.Site = func(_ context.Context, in Input[netKind]) (string, error) {
		return "site of " + in.Object.Name[:1], nil
	}
	s.r.turns = newTurns(1, func(id object.ID) { s.woken = append(s.woken, id.Name) })
	return s
}

// TestWithoutTurn: an object without a turn sends no request, and writes no status. The end of the turn
// requeues the object. An object at another site has a turn of its own.
func TestWithoutTurn(t *testing.T) {
	s := newQueued(t)
	s.create("a1", "a2", "b1")
	s.cloud.on = func(call string, after bool) error {
		if call != "create" || after {
			return nil
		}
		s.cloud.on = nil
		s.pass("a2", "a2")
		s.expect("a1 has the turn", "create", states{"a2": "none"})
		if got := s.read("a2").Status.Conditions; len(got) > 0 {
			t.Errorf("the status was written: %v", got)
		}
		s.pass("b1")
		s.expect("another site", "create", states{"b1": "r1"})
		clear(s.cloud.made)
		return nil
	}
	s.pass("a1")
	if !slices.Contains(s.woken, "a2") {
		t.Errorf("woken: %v", s.woken)
	}
	clear(s.cloud.made)
	s.cloud.calls = nil
	s.pass("a2")
	s.expect("the turn is free", "create", states{"a2": "r3"})
}

// TestOutage: a place that asks for a long pause ([Error.Outage]) is called by no other object of the
// namespace meanwhile. The condition has the reason, and an altered resource is read later. A deleted object
// waits as well.
func TestOutage(t *testing.T) {
	s := newQueued(t)
	s.create("a1")
	s.pass("a1")
	s.create("a2", "a3")
	s.cloud.calls = nil
	s.cloud.on = func(string, bool) error {
		return &Error{Class: Transient, Outage: true, After: time.Hour, Message: "HTTP 503"}
	}
	const waits = " the cloud fails or does not answer; one object asks again within 5m0s; the last failure: HTTP 503"
	if pause, err := s.again("a2"); err != nil || pause != longestAsked {
		t.Errorf("again in %s, error %v: the place asked for an hour, and may be mistaken", pause, err)
	}
	record := s.r.engine.records.of(s.id("a1"), s.read("a1").UID)
	record.noteAlteration(s.clock.Now())
	s.delete("a3")
	s.pass("a1", "a3")
	s.expect("no other object calls the place", "create", states{"a2": "none HTTP 503", "a1": "r1" + waits})
	if record.popAlteration().IsZero() {
		t.Error("the alteration is forgotten, so the resource is not read after the outage")
	}
}

// TestNoConnection: an error of [Kind.Site] or [Kind.Connect] ends the pass, and the turn is given back.
func TestNoConnection(t *testing.T) {
	s := newQueued(t)
	s.create("a1")
	site, connect := s.r.kind.Site, s.r.kind.Connect
	s.r.kind.Site = func(context.Context, Input[netKind]) (string, error) {
		return "", &Error{Class: Invalid, Message: "the Secret names no cloud"}
	}
	s.pass("a1")
	s.expect("no site", "", states{"a1": "none the Secret names no cloud"})
	s.r.kind.Site = site
	s.edit("a1")
	s.r.kind.Connect = func(context.Context, Input[netKind]) (Access[netKind, string], error) {
		return Access[netKind, string]{}, errors.New("no route")
	}
	s.pass("a1")
	s.expect("no connection", "", states{"a1": "none no route"})
	s.r.kind.Connect = connect
	s.pass("a1")
	s.expect("connected", "create", states{"a1": "r1"})
}
