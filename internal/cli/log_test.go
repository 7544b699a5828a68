package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestLogFormat: --log-format=json writes one JSON object per line with the same keys as text.
func TestLogFormat(t *testing.T) {
	var text, lines bytes.Buffer
	plain, err := newLog(&text, textLog, slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	structured, err := newLog(&lines, jsonLog, slog.LevelInfo)
	if err != nil {
		t.Fatal(err)
	}
	plain.WithValues("pack", "usage").Info("Created", "object", "Secret/db")
	structured.WithValues("pack", "usage").Info("Created", "object", "Secret/db")
	structured.V(1).Info("A detail")
	if !strings.HasSuffix(text.String(), "level=INFO msg=Created pack=usage object=Secret/db\n") {
		t.Errorf("as text: %s", &text)
	}
	var got map[string]string
	if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
		t.Fatalf("not one JSON object: %s: %v", &lines, err)
	}
	for key, want := range map[string]string{"level": "INFO", "msg": "Created", "pack": "usage", "object": "Secret/db"} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	if _, err := newLog(&text, "xml", slog.LevelInfo); err == nil || !strings.Contains(err.Error(), "text or json") {
		t.Errorf("an unknown format: %v", err)
	}
}

// TestLogWithoutFlag: the commands without the flag --log-format log text, and ask the cluster.
func TestLogWithoutFlag(t *testing.T) {
	for _, args := range [][]string{{"doctor"}, {"uninstall", "--dry-run"}} {
		root := newRoot("v0.0.0", genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard})
		root.SetArgs(append(args, "--server", "https://127.0.0.1:1", "--request-timeout", "1s"))
		err := root.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("%s: %v, want that no server answers", args[0], err)
		}
	}
}
