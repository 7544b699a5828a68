package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckLog: one line above INFO fails the stories, and is quoted.
func TestCheckLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), operatorLog)
	for text, want := range map[string]string{
		"time=1 level=INFO msg=Ready\ntime=2 level=DEBUG msg=\"the text level=ERROR: none\"\n": "",
		"time=1 level=INFO msg=Ready\ntime=2 level=WARN msg=Trouble\n":                         "level=WARN msg=Trouble",
		"time=1 level=ERROR msg=Failed\n":                                                      "level=ERROR msg=Failed",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := checkLog(path)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if err := checkLog(path + ".none"); err == nil {
		t.Error("a missing log is no error")
	}
}
