package external

import (
	"context"
	"fmt"
	"testing"
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
