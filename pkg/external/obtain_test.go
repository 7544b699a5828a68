package external

import "testing"

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
