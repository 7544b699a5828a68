package object_test

import (
	"testing"

	"github.com/kinship-dev/kinship/pkg/object"
)

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		version, than string
		want          bool
	}{
		{"9", "10", true},
		{"10", "9", false},
		{"10", "10", false},
		{"", "10", false},
		{"10", "", false},
		{"x", "10", false},
	} {
		if got := object.Older(c.version, c.than); got != c.want {
			t.Errorf("Older(%q, %q) is %t", c.version, c.than, got)
		}
	}
}
