package external

import (
	"testing"
	"time"
)

// TestMade: intent.made never accepts a resource that another client has created.
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
			if got := i.made(c.who, c.began, c.dated, c.marked); got != c.want {
				t.Errorf("%s: %t, want %t", c.reason, got, c.want)
			}
		})
	}
}
