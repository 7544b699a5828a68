package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGenerated: the committed files, which an earlier run wrote, equal the files that `make generate` writes.
func TestGenerated(t *testing.T) {
	generated, err := generate("../..")
	if err != nil {
		t.Fatal(err)
	}
	committed := map[string]string{}
	for _, pattern := range []string{"templates/zz_generated.*", "files/zz_generated.*"} {
		paths, err := filepath.Glob("../../charts/kinship/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			committed[strings.TrimPrefix(filepath.ToSlash(path), "../../charts/kinship/")] = string(text)
		}
	}
	if diff := cmp.Diff(committed, generated); diff != "" {
		t.Errorf("run make generate (-committed +generated):\n%.4000s", diff)
	}
	for name, text := range generated {
		if strings.Contains(text, "mark-") {
			t.Errorf("%s has a mark that no value replaces", name)
		}
	}
}

// TestConditional: a template has conditions on exactly the values on which an object depends.
func TestConditional(t *testing.T) {
	all := []axis{{condition: "a"}, {condition: "b"}}
	for name, tc := range map[string]struct {
		texts []string // off off, off on, on off, on on
		want  string
	}{
		"always":       {[]string{"x\n", "x\n", "x\n", "x\n"}, "x\n"},
		"never":        {[]string{"", "", "", ""}, ""},
		"by the first": {[]string{"", "", "x\n", "x\n"}, "{{- if a }}\nx\n{{- end }}\n"},
		"unless the last": {
			[]string{"x\n", "", "x\n", ""}, "{{- if not (b) }}\nx\n{{- end }}\n",
		},
		"one or the other": {
			[]string{"x\n", "y\n", "x\n", "y\n"}, "{{- if b }}\ny\n{{- else }}\nx\n{{- end }}\n",
		},
		"with both": {
			[]string{"", "", "", "x\n"}, "{{- if a }}\n{{- if b }}\nx\n{{- end }}\n{{- end }}\n",
		},
	} {
		if diff := cmp.Diff(tc.want, conditional(tc.texts, all)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAlerts: an alert without a runbook is an error that names the alert.
func TestAlerts(t *testing.T) {
	page, runbook := filepath.Join(t.TempDir(), "page.md"), filepath.Join(t.TempDir(), "runbook.md")
	text := "```yaml\ngroups:\n  - name: g\n    rules:\n" +
		"      - {alert: Lost, expr: up < 1, annotations: {summary: s}}\n```\n"
	for path, content := range map[string]string{page: text, runbook: "# Runbooks\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := alerts(page, runbook); err == nil || !strings.Contains(err.Error(), "Lost") {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(runbook, []byte("# Runbooks\n\n### Lost\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := alerts(page, runbook)
	if err != nil || !strings.Contains(got, "troubleshooting.md#lost") {
		t.Errorf("got %s, %v", got, err)
	}
}
