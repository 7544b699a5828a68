package assets

import (
	"fmt"
	"strings"
)

// notes returns the section of a version from the text of CHANGELOG.md. If CHANGELOG.md has no such
// section, notes returns the section Unreleased.
func notes(changelog, version string) (string, error) {
	for _, heading := range []string{version, "Unreleased"} {
		if section, ok := sectionOf(changelog, heading); ok {
			return "# " + version + "\n\n" + section + "\n", nil
		}
	}
	return "", fmt.Errorf("the changelog has neither a section %s nor a section Unreleased", version)
}

// sectionOf returns the text below a heading "## HEADING". The heading may have more words, such as
// a date: "## v1.2.0 2026-01-31".
func sectionOf(text, heading string) (string, bool) {
	var section []string
	inside := false
	for line := range strings.Lines(text) {
		if title, found := strings.CutPrefix(line, "## "); found {
			if inside {
				break
			}
			words := strings.Fields(title)
			inside = len(words) > 0 && strings.Trim(words[0], "[]") == heading
			continue
		}
		if inside {
			section = append(section, line)
		}
	}
	body := strings.TrimSpace(strings.Join(section, ""))
	return body, body != ""
}
