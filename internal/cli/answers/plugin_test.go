package answers

import (
	"bytes"
	"io"
	"os"
	"testing"
)

// TestColour opens a terminal of its own, because tests rarely run in a terminal.
func TestColour(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := terminal.Close(); err != nil {
			t.Error(err)
		}
	})
	cases := map[string]struct {
		reason string
		out    io.Writer
		env    map[string]string
		want   bool
	}{
		"terminal":       {"people like colours", terminal, map[string]string{"TERM": "xterm"}, true},
		"NO_COLOR":       {"not all of them", terminal, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, false},
		"dumb terminal":  {"it would print the codes", terminal, map[string]string{"TERM": "dumb"}, false},
		"file or a pipe": {"a program reads it", &bytes.Buffer{}, map[string]string{"TERM": "xterm"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", "") // Empty is as good as not set.
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			if got := colour(tc.out); got != tc.want {
				t.Errorf("colour is %t, want %t: %s", got, tc.want, tc.reason)
			}
		})
	}
}
