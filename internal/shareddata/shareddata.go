// Package shareddata finds the data that lies beside the repository, for tests. The data has schemas of ARM and
// recordings of a cloud, which are no part of the project.
package shareddata

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Variable is the environment variable with the directory of the data. The default is ../shared/data, as
// seen from the repository.
const Variable = "KINSHIP_DATA"

// Path returns the path of an entry of the data. Where the entry is absent, the test is skipped, and says that it
// has proved nothing.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	_, here, _, _ := runtime.Caller(0)
	beside := filepath.Join(filepath.Dir(here), "..", "..", "..", "shared", "data")
	path := filepath.Join(cmp.Or(os.Getenv(Variable), beside), filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("NOT PROVED: the data %s is absent: set %s to the directory with it", name, Variable)
	}
	return path
}
