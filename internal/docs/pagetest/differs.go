package pagetest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// changing are the texts that differ from run to run, such as ages and UIDs. kubectl pads columns
// to their longest cell, so runs of spaces differ too. The message "Waiting for Port/web to be created" stays
// after the creation of the Port, because no pass is spent on the message alone.
var changing = []struct {
	text *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?m?s\b`), "AGE"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`-[0-9a-f]{8,10}(-[a-z0-9]{5})?\b`), "-HASH"},
	{regexp.MustCompile(`\d+\.\d+\.\d+\.\d+(:\d+)?`), "ADDRESS"},
	{regexp.MustCompile(`(Waiting for \S+ to be) (created|ready)`), "$1 THERE"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

func steady(text string) string {
	for _, c := range changing {
		text = c.text.ReplaceAllString(text, c.by)
	}
	return strings.TrimSpace(text)
}

// anything is the line that matches any number of lines.
const anything = "..."

// Differs compares the output that a page shows with the output of the command. A line "..." on the
// page matches any number of lines. The exit code may be non-zero only if the page shows an Error.
func Differs(want, got string, code int) error {
	failed := strings.HasPrefix(want, "Error") || strings.HasPrefix(want, "error")
	if (code != 0) != failed {
		return fmt.Errorf("exit code %d:\n%s", code, got)
	}
	want, got = steady(want), steady(got)
	if match(strings.Split(want, "\n"), strings.Split(got, "\n")) {
		return nil
	}
	return fmt.Errorf("output (-page +now):\n%s", cmp.Diff(want, got))
}

func match(want, got []string) bool {
	for i, line := range want {
		if line != anything {
			if i >= len(got) || line != got[i] {
				return false
			}
			continue
		}
		for skip := i; skip <= len(got); skip++ {
			if match(want[i+1:], got[skip:]) {
				return true
			}
		}
		return false
	}
	return len(want) == len(got)
}
