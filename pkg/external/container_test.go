package external

import (
	"testing"
	"time"
)

// TestWentWithOwner: an object whose resource was inside the owner's deleted resource ends without a
// request. The object sends a request if its resource was outside ([Kind.Within]), or if another process
// deleted the owner.
func TestWentWithOwner(t *testing.T) {
	w := newOwnedWorld(t)
	restart := func() {
		w.restart()
		w.r.kind.Cascades = true
		w.r.kind.Within = func(id, other string) bool { return id != "blue-apart" && other == "blue-owner" }
		attach(w.r, w.store)
		w.watch("owner")
	}
	restart()
	all := []string{"owner", "in", "apart", "late"}
	w.create(all...)
	w.pass(all...)
	w.cloud.change(func(c *toyCloud) {
		c.calls, c.takes = nil, map[string][]string{"blue-owner": {"blue-in", "blue-apart", "blue-late"}}
	})
	w.delete(all...)
	w.passIn("in", taking)
	w.expect("the status says nothing of a short wait", states{"in": "blue-in"})
	w.later(taking, "in")
	w.expect("it leaves the deletion to the owner",
		states{"in": "blue-in Waiting for Network/owner to be deleted, which takes resource along"})
	w.pass("owner", "in", "apart")
	w.expect("gone with the owner", states{"owner": "gone", "in": "gone", "apart": "gone"},
		"DELETE /things/blue-owner", "GET /things/blue-apart")
	restart()
	w.pass("late")
	w.expect("another process reads the resource", states{"late": "gone"}, "GET /things/blue-late")
	w.forgotten()
}

// TestCreatedAgain: records.setAttempt resets record.container, because a resource that is created after
// the end of the owner's resource was not deleted with the owner.
func TestCreatedAgain(t *testing.T) {
	s := newRecords(nil)
	r := s.learn(used, "1")
	r.container.Store(&container{id: "group"})
	s.startAttempt(r, cloudKey{key: "net"}, time.Time{})
	if gone := r.endOf(); gone != (container{}) {
		t.Errorf("the record has %v", gone)
	}
}
