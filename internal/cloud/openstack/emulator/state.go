package emulator

import (
	"slices"
	"time"
)

// transition is a change of status that follows without a request, such as BUILD to ACTIVE of a
// server.
type transition struct {
	object object
	since  time.Time
	then   func()
}

// become sets status of an object to state, and to next after [Options.BuildTime]. Except for
// downloads, nothing runs in the background: runDue makes the due changes before the next request.
func (rq *request) become(o object, state, next string, also func()) {
	rq.after(o, func() {
		o["status"] = next
		if _, has := o["updated_at"]; has {
			touch(rq, o)
		}
		if also != nil {
			also()
		}
	})
	if rq.cloud.options.BuildTime > 0 {
		o["status"] = state
	}
}

// after runs a function after [Options.BuildTime], or at once if BuildTime is 0.
func (rq *request) after(o object, then func()) {
	if rq.cloud.options.BuildTime <= 0 {
		then()
		return
	}
	rq.cloud.pending = append(rq.cloud.pending, transition{object: o, since: rq.now, then: then})
}

// runDue runs the changes that are due.
func (s *Server) runDue(now time.Time) {
	var due []transition
	s.pending = slices.DeleteFunc(s.pending, func(t transition) bool {
		if now.Sub(t.since) < s.options.BuildTime {
			return false
		}
		due = append(due, t)
		return true
	})
	for _, t := range due {
		t.then()
	}
}

// cancel drops an object's coming changes.
func (s *Server) cancel(o object) {
	s.pending = slices.DeleteFunc(s.pending, func(t transition) bool { return t.object.id() == o.id() })
}
