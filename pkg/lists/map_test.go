package lists_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/pkg/lists"
)

// TestMap: there is a result for each item, in order, and an empty list stays a list.
func TestMap(t *testing.T) {
	for _, c := range []struct {
		items []int
		want  []string
	}{{[]int{3, 1, 2}, []string{"3", "1", "2"}}, {[]int{}, []string{}}, {nil, []string{}}} {
		if diff := cmp.Diff(c.want, lists.Map(c.items, strconv.Itoa)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.items, diff)
		}
	}
}
