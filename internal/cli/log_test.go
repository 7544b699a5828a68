package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestLogFormat: --log-format=json writes one JSON object per line with the same keys as text.
func TestLogFormat(t *testing.T) {
	var text, lines bytes.Buffer
	plain, err := newLog(&text, textLog, false)
	if err != nil {
		t.Fatal(err)
	}
	structured, err := newLog(&lines, jsonLog, false)
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
	if _, err := newLog(&text, "xml", false); err == nil || !strings.Contains(err.Error(), "text or json") {
		t.Errorf("an unknown format: %v", err)
	}
}
