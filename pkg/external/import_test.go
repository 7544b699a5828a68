package external

import (
	"testing"
	"time"
)

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
