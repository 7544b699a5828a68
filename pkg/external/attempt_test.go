package external

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// TestAttempt is the truth table of attempt.decide.
func TestAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		facts attempt
		want  attemptEnd
	}{
		"no attempt":          {attempt{}, createdNothing},
		"refused":             {attempt{intended: true, refused: true}, createdNothing},
		"operation runs":      {attempt{intended: true, running: true}, notEnded},
		"not searched":        {attempt{intended: true}, toSearch},
		"not searched, moved": {attempt{intended: true, elsewhere: true}, toSearch},
		"one":                 {attempt{intended: true, searched: true, orphans: 1}, createdOne},
		"one, moved":          {attempt{intended: true, searched: true, orphans: 1, elsewhere: true}, createdOne},
		"one, no answer":      {attempt{intended: true, searched: true, orphans: 1, unanswered: true}, createdOne},
		"two":                 {attempt{intended: true, searched: true, orphans: 2}, createdSeveral},
		"two, moved":          {attempt{intended: true, searched: true, orphans: 2, elsewhere: true}, createdSeveral},
		"none, moved":         {attempt{intended: true, searched: true, elsewhere: true}, triedElsewhere},
		"none, moved, no answer": {
			attempt{intended: true, searched: true, elsewhere: true, unanswered: true}, triedElsewhere,
		},
		"none, no answer": {attempt{intended: true, searched: true, unanswered: true}, notEnded},
		"none":            {attempt{intended: true, searched: true}, createdNothing},
	} {
		if got := c.facts.decide(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestUnderwayEnds: awaitAnswer ends when memory.until has passed, and the last look is at memory.until. A
// restart continues the wait if the intent has intent.Tried.
func TestUnderwayEnds(t *testing.T) {
	for _, c := range []struct {
		reason string
		tried  time.Duration // since then; 0 means that the intent does not tell
		want   time.Duration
	}{
		{"an earlier release does not tell", 0, unknownEnd},
		{"a moment ago", time.Millisecond, unknownEnd - time.Millisecond},
		{"another process has waited for most of it", 8 * time.Second, 2 * time.Second},
		{"it is over", time.Minute, 0},
		{"another machine's clock is ahead", -time.Minute, unknownEnd},
	} {
		r, clock := newReconciler()
		p := newPass()
		p.Object.UID = "u"
		began, looks := clock.Now(), 0
		i := intent{UID: "u", Time: began.Add(-time.Hour)}
		if c.tried != 0 {
			i.Tried = began.Add(-c.tried)
		}
		text, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		p.Object.Annotations = map[string]string{r.annotation(): string(text)}
		for r.isUnanswered(p) {
			if looks++; looks > 10 {
				t.Fatalf("%s: it waits after %d looks in %s", c.reason, looks, clock.Now().Sub(began))
			}
			clock.SetTime(clock.Now().Add(resultOf(t, r.awaitAnswer(p)).RequeueAfter))
		}
		if took := clock.Now().Sub(began); took != c.want {
			t.Errorf("%s: the wait took %s, want %s", c.reason, took, c.want)
		}
	}
}

// TestKilledAfterAttempts: a process is killed after the last of several attempts, and the cloud carries out
// this attempt when the next process runs. The next process waits unknownEnd from the last attempt, not from the
// first attempt.
func TestKilledAfterAttempts(t *testing.T) {
	w := newToyWorld(t, false)
	began := w.clock.Now()
	w.create("a")
	w.cloud.change(func(c *toyCloud) { c.fails = http.MethodPost })
	w.pass("a")
	w.expect("the first attempt", states{"a": "none the cloud failed"}, "GET /things?name=a", "POST /things")
	w.cloud.change(func(c *toyCloud) { c.fails, c.slow, c.lose = "", 1, http.MethodPost })
	w.later(2*unknownEnd, "a")
	w.expect("the last attempt", states{"a": "none no answer"}, "GET /things?name=a", "POST /things")
	w.restart()
	w.clock.SetTime(began.Add(2*unknownEnd + time.Second))
	w.pass("a")
	const waits = "none Waiting for what was asked of the toy cloud before: its answer was lost"
	w.expect("another process waits", states{"a": waits}, "GET /things?name=a")
	w.cloud.change((*toyCloud).finish)
	w.later(unknownEnd/2, "a")
	w.expect("the resource is found", states{"a": "t1"}, "GET /things?name=a")
}
