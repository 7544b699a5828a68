package server

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// TestExactly: the pattern for a name matches that name and no other name, though Nova takes a name for a pattern.
func TestExactly(t *testing.T) {
	name := rapid.StringOfN(rapid.SampledFrom([]rune(`ab.*+?|()[]{}^$\\-`)), 1, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		wanted, other := name.Draw(t, "wanted"), name.Draw(t, "other")
		pattern, err := regexp.Compile(exactly(wanted))
		if err != nil {
			t.Fatalf("%q: %v", wanted, err)
		}
		if !pattern.MatchString(wanted) || pattern.MatchString(other) != (wanted == other) {
			t.Errorf("%s matches %q: %t, and %q: %t", pattern, wanted, pattern.MatchString(wanted), other,
				pattern.MatchString(other))
		}
	})
}
