package testenv

// raced says that the race detector runs.
var raced bool

// Many returns a number of objects or requests, and a tenth of it when the race
// detector runs, which makes all of them slow and finds nothing more with many.
func Many(n int) int {
	if raced {
		return n / 10
	}
	return n
}
