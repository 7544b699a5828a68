package reconcile_test

import (
	"testing"
	"time"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// counter is a status: so many of its parts are available, and the goal is a part of the rest.
type counter struct {
	Available, Of int
	Goal          string
}

func newReports() *reconcile.Reports[*counter] {
	return &reconcile.Reports[*counter]{
		First: 20 * time.Second, Ratio: 10, Each: 200 * time.Millisecond,
		Coarse:        func(c *counter) *counter { return &counter{Of: c.Of, Goal: c.Goal} },
		IsProgressing: func(c *counter) bool { return c.Available < c.Of },
	}
}

func numbered(n int) object.ID { return object.ID{Kind: "K", Name: string(rune('a' + n))} }

// TestDefer shows which status writes are deferred, and for how long.
func TestDefer(t *testing.T) {
	const ms = time.Millisecond
	now, begun := time.Now(), counter{Available: 1, Of: 4}
	cases := map[string]struct {
		reason string
		others int
		most   time.Duration
		after  time.Duration
		status counter
		want   time.Duration
	}{
		"progress":      {"the record says so already", 0, 0, time.Second, counter{2, 4, ""}, 19 * time.Second},
		"slow progress": {"after First people want to know what is missing", 0, 0, 20 * time.Second, counter{2, 4, ""}, 0},
		"many":          {"401 objects take turns of 200 ms", 400, 0, time.Second, counter{2, 4, ""}, 79200 * ms},
		"bounded":       {"Most is 30 s", 400, 30 * time.Second, time.Second, counter{2, 4, ""}, 29 * time.Second},
		"a few":         {"51 turns of 200 ms take less than First", 50, 0, time.Second, counter{2, 4, ""}, 19 * time.Second},
		"finished":      {"clients wait for the end", 0, 0, time.Second, counter{4, 4, ""}, 0},
		"other field":   {"Goal is no progress", 0, 0, time.Second, counter{2, 4, "g"}, 0},
		"unchanged":     {"there is nothing to write", 0, 0, time.Second, begun, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newReports()
			r.Most = c.most
			for i := range c.others + 1 {
				r.Wrote(numbered(i), now, &counter{}, &begun)
			}
			recorded := begun
			if got := r.Defer(numbered(0), now.Add(c.after), &recorded, &c.status); got != c.want {
				t.Errorf("%s: deferred for %s, want %s", c.reason, got, c.want)
			}
		})
	}
}

// TestLatest shows that a pass continues from the deferred status, unless another status was
// recorded since.
func TestLatest(t *testing.T) {
	r, id, now := newReports(), numbered(0), time.Now()
	recorded, second, third := &counter{1, 4, ""}, &counter{2, 4, ""}, &counter{3, 4, ""}
	if got := r.Latest(id, recorded); got != recorded {
		t.Errorf("nothing was deferred, and the pass continues from %v", got)
	}
	r.Wrote(id, now, &counter{}, recorded)
	if r.Defer(id, now, recorded, second) == 0 {
		t.Fatal("progress is not deferred")
	}
	if got := r.Latest(id, &counter{1, 4, ""}); got != second {
		t.Errorf("the pass continues from %v, want the deferred %v", got, second)
	}
	if other := (&counter{1, 5, ""}); r.Latest(id, other) != other {
		t.Error("the deferred status is used although another status was recorded")
	}
	r.Wrote(id, now.Add(20*time.Second), recorded, second)
	if got := r.Defer(id, now.Add(20*time.Second), second, third); got != 200*time.Second {
		t.Errorf("a report that follows after 20 s defers the next one for %s, want Ratio times 20 s", got)
	}
	// The write of the third status reached the API server, and the answer was lost.
	if r.Defer(id, now.Add(21*time.Second), third, third); r.Latest(id, second) != second {
		t.Error("a status that is on record is still deferred")
	}
}

// TestReportsForgotten shows that nothing is kept of objects that are done or deleted.
func TestReportsForgotten(t *testing.T) {
	r, now := newReports(), time.Now()
	for i := range 2 {
		r.Wrote(numbered(i), now, &counter{}, &counter{1, 4, ""})
	}
	r.Wrote(numbered(0), now, &counter{1, 4, ""}, &counter{4, 4, ""})
	if r.Len() != 1 {
		t.Errorf("%d objects are in progress, want 1", r.Len())
	}
	r.Forget(numbered(1))
	if r.Len() != 0 {
		t.Error("a deleted object is kept")
	}
}
