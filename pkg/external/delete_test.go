package external

import "testing"

// TestRemainder is the truth table of remainder.decide.
func TestRemainder(t *testing.T) {
	for name, c := range map[string]struct {
		facts remainder
		want  removal
	}{
		"nothing was begun":       {remainder{managed: true}, keepResource},
		"unmanaged":               {remainder{known: true}, keepResource},
		"detached":                {remainder{managed: true, detached: true, known: true}, keepResource},
		"detached attempt":        {remainder{managed: true, detached: true, intended: true}, keepResource},
		"known":                   {remainder{managed: true, known: true}, deleteKnown},
		"known, with an attempt":  {remainder{managed: true, known: true, intended: true}, deleteKnown},
		"accepted":                {remainder{managed: true, known: true, accepted: true}, awaitGone},
		"accepted, was busy":      {remainder{managed: true, known: true, accepted: true, postpone: true}, awaitGone},
		"busy":                    {remainder{managed: true, known: true, postpone: true}, awaitBusy},
		"gone":                    {remainder{managed: true, known: true, missing: true}, keepResource},
		"gone, accepted":          {remainder{managed: true, known: true, missing: true, accepted: true}, keepResource},
		"gone, with an attempt":   {remainder{managed: true, known: true, missing: true, intended: true}, deleteAttempted},
		"shared":                  {remainder{managed: true, known: true, shared: true}, leaveToOthers},
		"shared, with an attempt": {remainder{managed: true, known: true, shared: true, intended: true}, deleteAttempted},
		"shared, attempt refused": {
			remainder{managed: true, known: true, shared: true, intended: true, refused: true}, leaveToOthers,
		},
		"an attempt":      {remainder{managed: true, intended: true}, deleteAttempted},
		"refused attempt": {remainder{managed: true, intended: true, refused: true}, keepResource},
	} {
		if got := c.facts.decide(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
