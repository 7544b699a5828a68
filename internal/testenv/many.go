package testenv

import "os"

// manyVar is the variable that the stage many of .ci/run sets. That stage runs the few tests of
// large numbers.
const manyVar = "KINSHIP_MANY"

// Many returns n if KINSHIP_MANY is set, else a tenth of n. A thousand Networks take more than a
// minute of processor time, and a hundred go through the same code.
func Many(n int) int {
	if os.Getenv(manyVar) != "" {
		return n
	}
	return n / 10
}
