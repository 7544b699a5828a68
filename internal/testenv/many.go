package testenv

// raced says that the race detector runs.
var raced bool

// Many returns n, or a tenth of n with the race detector: many objects are slow there, and find
// no more races.
func Many(n int) int {
	if raced {
		return n / 10
	}
	return n
}
