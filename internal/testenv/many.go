package testenv

import "os"

// manyVar is the variable that the stage many of .ci/run sets. That stage runs the few tests of
// large numbers.
const manyVar = "KINSHIP_MANY"

// Many returns n if KINSHIP_MANY is set, else a tenth of n. 1,000 Networks take more than a minute
// of processor time, and 100 Networks run the same code.
func Many(n int) int {
	if os.Getenv(manyVar) != "" {
		return n
	}
	return n / 10
}
