package pagetest

import (
	"strings"
	"testing"
)

func TestDiffers(t *testing.T) {
	for _, c := range []struct {
		name, want, got string
		code            int
		ok              bool
	}{
		{"the same", "a\n", "a\n", 0, true},
		{"another", "a\n", "b\n", 0, false},
		{"more than the page", "a\n", "a\nb\n", 0, false},
		{"less than the page", "a\nb\n", "a\n", 0, false},
		{
			"a target that a pass saw earlier or later", "Waiting for Port/web to be created; Waiting for Secret/s to be ready",
			"Waiting for Port/web to be ready; Waiting for Secret/s to be created", 0, true,
		},
		{"another target", "Waiting for Port/web to be created", "Waiting for Port/other to be created", 0, false},
		{"ages and columns", "NAME   AGE\nweb    5s\n", "NAME  AGE\nweb   1m20s\n", 0, true},
		{"names of Pods", "Pod/web-846cc6fc48-8qwhk\n", "Pod/web-5d5b8b8c9f-abcde\n", 0, true},
		{"lines left out", "a\n...\nd\n", "a\nb\nc\nd\n", 0, true},
		{"nothing left out", "a\n...\nd\n", "a\nd\n", 0, true},
		{"the end left out", "a\n...\n", "a\nb\n", 0, true},
		{"lines left out twice", "...\nb\n...\nd\n", "a\nb\nc\nb\nd\n", 0, true},
		{"the end is missing", "a\n...\nd\n", "a\nb\n", 0, false},
		{"an error on the page", "Error from server: no\n", "Error from server: no\n", 1, true},
		{"an error that did not happen", "Error from server: no\n", "Error from server: no\n", 0, false},
		{"an error that the page lacks", "", "", 1, false},
	} {
		if err := Differs(c.want, c.got, c.code); (err == nil) != c.ok {
			t.Errorf("%s: %v, want ok=%v", c.name, err, c.ok)
		}
	}
}

// TestSession: commands share a shell, a failure is seen, and a background job does not delay the next command.
func TestSession(t *testing.T) {
	s := start(t.Context(), t, t.TempDir(), []string{"GIVEN=given"})
	for _, c := range []struct {
		script, output string
		code           int
	}{
		{"a=1; echo $GIVEN", "given\n", 0},
		{"tail -f /dev/null &", "", 0},
		{"echo $a >&2\nfalse", "1\n", 1},
		{"cat", "", 0},
	} {
		output, code, err := s.run(c.script)
		if err != nil || code != c.code || output != c.output {
			t.Errorf("%q: output %q, code %d, %v; want %q, %d", c.script, output, code, err, c.output, c.code)
		}
	}
	if _, _, err := s.run("set -e\nfalse\necho not here"); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("a script that failed half-way: %v", err)
	}
}
